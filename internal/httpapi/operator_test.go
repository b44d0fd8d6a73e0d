package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestRaftConfiguration(t *testing.T) {
	k := newKit(t)
	w := k.do("GET", "/v1/operator/raft/configuration", "")
	want := `{"Servers":[{"ID":"id-1","Node":"n1","Address":"10.0.0.1:8300","Leader":true,"ProtocolVersion":"3","Voter":true,"LastIndex":7}],"Index":0}`
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := k.do("GET", "/v1/operator/raft/configuration?dc=nowhere", ""); w.Code != http.StatusInternalServerError || w.Body.String() != "No path to datacenter" {
		t.Errorf("another datacenter: %d %s", w.Code, w.Body)
	}
}
