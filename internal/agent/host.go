package agent

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// hostAnswer is what the host endpoint tells about the machine, in the shape of the
// reference, with the fields that need no more than the standard library.
type hostAnswer struct {
	Memory         memory
	CPU            []cpu
	Host           hostFacts
	Disk           any
	CollectionTime int64
	Errors         []string
}

type memory struct {
	Total     uint64 `json:"total"` // bytes
	Available uint64 `json:"available"`
	Free      uint64 `json:"free"`
}

type cpu struct {
	CPU int `json:"cpu"`
}

type hostFacts struct {
	Hostname   string `json:"hostname"`
	Uptime     uint64 `json:"uptime"` // seconds
	OS         string `json:"os"`
	KernelArch string `json:"kernelArch"`
}

func hostInfo() (*hostAnswer, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("read the host's name: %w", err)
	}
	h := &hostAnswer{
		Host:           hostFacts{Hostname: name, OS: runtime.GOOS, KernelArch: runtime.GOARCH},
		CollectionTime: time.Now().UnixNano(),
	}
	for i := range runtime.NumCPU() {
		h.CPU = append(h.CPU, cpu{i})
	}
	if err := h.readProc(); err != nil {
		// Not every system has /proc; what is missing is said, the rest counts.
		h.Errors = append(h.Errors, err.Error())
	}
	return h, nil
}

func (h *hostAnswer) readProc() error {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "MemTotal":
			h.Memory.Total = kib << 10
		case "MemAvailable":
			h.Memory.Available = kib << 10
		case "MemFree":
			h.Memory.Free = kib << 10
		}
	}
	data, err = os.ReadFile("/proc/uptime")
	if err != nil {
		return err
	}
	text, _, _ := strings.Cut(string(data), ".")
	h.Host.Uptime, err = strconv.ParseUint(text, 10, 64)
	return err
}
