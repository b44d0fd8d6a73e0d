package check

// tailBuffer is a writer that keeps the last bytes written to it, in memory of
// fixed size, so that an endless answer costs nothing.
type tailBuffer struct {
	buf  []byte
	size int
	next int // where the oldest byte is, once the buffer is full
}

func newTailBuffer(size int) *tailBuffer { return &tailBuffer{size: size} }

func (b *tailBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if n >= b.size {
		b.buf = append(b.buf[:0], p[n-b.size:]...)
		b.next = 0
		return n, nil
	}
	if free := b.size - len(b.buf); free > 0 {
		take := min(free, len(p))
		b.buf = append(b.buf, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		c := copy(b.buf[b.next:], p)
		b.next = (b.next + c) % b.size
		p = p[c:]
	}
	return n, nil
}

func (b *tailBuffer) String() string {
	return string(b.buf[b.next:]) + string(b.buf[:b.next])
}
