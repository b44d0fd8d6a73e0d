package httpapi

import (
	"net/http"
	"net/http/pprof"

	"github.com/muster-discovery/muster/internal/model"
)

// profile answers below /debug/pprof, where enable_debug lets it.
func profile(c *call) error {
	if !c.s.cfg.EnableDebug {
		return model.Errorf(model.KindNotFound, "profiles are off: set enable_debug")
	}
	var h http.Handler
	switch c.id {
	case "":
		h = http.HandlerFunc(pprof.Index)
	case "cmdline":
		h = http.HandlerFunc(pprof.Cmdline)
	case "profile":
		h = http.HandlerFunc(pprof.Profile)
	case "symbol":
		h = http.HandlerFunc(pprof.Symbol)
	case "trace":
		h = http.HandlerFunc(pprof.Trace)
	default:
		h = pprof.Handler(c.id)
	}
	c.wrote = true // from here on the answer is the profile's
	h.ServeHTTP(c.w, c.r)
	return nil
}
