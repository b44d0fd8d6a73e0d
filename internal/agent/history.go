package agent

import (
	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/model"
)

// historySetting is what this server, when it leads, makes the cluster's setting.
func historySetting(cfg *config.Config) model.KVHistory {
	bytes, _ := cfg.History.MaxBytes.Bytes() // config has checked it
	return model.KVHistory{Revisions: uint64(max(cfg.History.Revisions, 0)), MaxBytes: uint64(bytes)}
}
