package fsm

// names shares strings, tag lists and maps that occur in many values: service
// names, tags, statuses, the meta of machines of one kind. What is shared must not
// be modified, which holds for all values of the state. It is a cache: bounded, and
// emptied when full. The nil cache shares nothing.
type names struct {
	strings map[string]string
	lists   map[string][]string          // by encoding
	maps    map[string]map[string]string // by encoding
}

// Bounds. Longer strings and encodings rarely repeat and would cost more to keep
// than sharing saves; the keys of one table of 4,096 take 2 MB at most.
const (
	maxNames    = 4096
	maxName     = 64
	maxEncoding = 512
)

func newNames() *names {
	return &names{
		strings: make(map[string]string),
		lists:   make(map[string][]string),
		maps:    make(map[string]map[string]string),
	}
}

func (n *names) string(b []byte) string {
	if n == nil || len(b) > maxName {
		return string(b)
	}
	if s, ok := n.strings[string(b)]; ok {
		return s
	}
	if len(n.strings) >= maxNames {
		clear(n.strings)
	}
	s := string(b)
	n.strings[s] = s
	return s
}

func (n *names) list(raw []byte) ([]string, bool) {
	if n == nil {
		return nil, false
	}
	list, ok := n.lists[string(raw)]
	return list, ok
}

func (n *names) keepList(raw []byte, list []string) []string {
	list = append(make([]string, 0, len(list)), list...)
	if n != nil && len(raw) <= maxEncoding {
		if len(n.lists) >= maxNames {
			clear(n.lists)
		}
		n.lists[string(raw)] = list
	}
	return list
}

func (n *names) stringMap(raw []byte) (map[string]string, bool) {
	if n == nil {
		return nil, false
	}
	m, ok := n.maps[string(raw)]
	return m, ok
}

func (n *names) keepMap(raw []byte, m map[string]string) map[string]string {
	if n != nil && len(raw) <= maxEncoding {
		if len(n.maps) >= maxNames {
			clear(n.maps)
		}
		n.maps[string(raw)] = m
	}
	return m
}
