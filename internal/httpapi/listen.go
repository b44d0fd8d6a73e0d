package httpapi

import (
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServerConfig bounds what a connection may take. Start from DefaultServerConfig.
type ServerConfig struct {
	ReadHeaderTimeout time.Duration
	IdleTimeout       time.Duration
	// WriteTimeout bounds a whole answer, the wait of a blocking query included.
	// 0: no bound.
	WriteTimeout   time.Duration
	MaxHeaderBytes int
	// ConnState is called at every change of a connection's state; may be nil.
	ConnState func(net.Conn, http.ConnState)
	Logger    *slog.Logger
}

// DefaultServerConfig has bounds that no client of Consul meets: its longest wait
// is 10 minutes and a sixteenth.
func DefaultServerConfig() ServerConfig {
	return ServerConfig{
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		WriteTimeout:      12 * time.Minute,
		MaxHeaderBytes:    256 << 10,
	}
}

// NewServer makes the HTTP server for a handler. There is no ReadTimeout: it would
// end blocking queries. Handlers bound the reading of bodies themselves.
func NewServer(h http.Handler, c ServerConfig) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: c.ReadHeaderTimeout,
		IdleTimeout:       c.IdleTimeout,
		WriteTimeout:      c.WriteTimeout,
		MaxHeaderBytes:    c.MaxHeaderBytes,
		ConnState:         c.ConnState,
		ErrorLog:          slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		// OPTIONS * too is for the handler to refuse.
		DisableGeneralOptionsHandler: true,
	}
}
