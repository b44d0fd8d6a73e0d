package storage

import "time"

// marks are amounts of free space at which something happens. The gaps between them
// keep a disk that trembles around one from switching back and forth.
type marks struct {
	total  int64 // 0: nothing is known yet
	refuse int64 // below it new writes are refused
	resume int64 // at it they are accepted again
	warn   int64 // below it there is a warning
	calm   int64 // at it that ends
}

const (
	// segments is what the log takes when it goes on: the next two of its files.
	segments = 8 << 20
	// maxMargin bounds what is kept free on large disks, where 1 % is more than the
	// agent could ever fill in the time that it takes to act.
	maxMargin = 256 << 20

	warnWithin = 30 * time.Minute // a forecast below it is a warning
	calmBeyond = time.Hour
)

// newMarks keeps room for the log, and for writing the largest file anew: a snapshot or
// a journal, behind which the log or the old journal goes. It never asks for so much
// that a small disk could not be used at all.
func newMarks(total, largest int64) marks {
	need := max(segments+largest+largest/4, min(total/100, maxMargin))
	refuse := min(need, total*2/5)
	return marks{total: total, refuse: refuse, resume: refuse * 5 / 4, warn: refuse * 2, calm: refuse * 9 / 4}
}

// next is the state that follows.
func (m *marks) next(was SpaceState, free int64, full time.Duration) SpaceState {
	if free < m.refuse || was == SpaceRefusing && free < m.resume {
		return SpaceRefusing
	}
	if free < m.warn || full < warnWithin {
		return SpaceWarning
	}
	if was != SpaceOK && (free < m.calm || full < calmBeyond) {
		return SpaceWarning
	}
	return SpaceOK
}

const (
	// sampleEvery and samples make the window of a forecast ten minutes: longer than the
	// steps in which log and snapshots grow and shrink.
	sampleEvery = 5 * time.Second
	samples     = 120
	// enough is the time below which nothing is foretold.
	enough = time.Minute
)

// forecast foretells from how free space has changed when it will be at an end.
type forecast struct {
	at   []time.Time
	free []float64
}

// add takes a sample in, if it is time for one.
func (f *forecast) add(now time.Time, free int64) {
	if n := len(f.at); n > 0 && now.Sub(f.at[n-1]) < sampleEvery {
		return
	}
	if len(f.at) == samples {
		f.at, f.free = append(f.at[:0], f.at[1:]...), append(f.free[:0], f.free[1:]...)
	}
	f.at, f.free = append(f.at, now), append(f.free, float64(free))
}

// growth is by how many bytes a second free space shrinks: the slope of the line that
// fits the samples best.
func (f *forecast) growth() float64 {
	n := len(f.at)
	if n < 3 || f.at[n-1].Sub(f.at[0]) < enough {
		return 0
	}
	var meanX, meanY float64
	for i, y := range f.free {
		meanX += f.at[i].Sub(f.at[0]).Seconds() / float64(n)
		meanY += y / float64(n)
	}
	var above, below float64
	for i, y := range f.free {
		x := f.at[i].Sub(f.at[0]).Seconds() - meanX
		above += x * (y - meanY)
		below += x * x
	}
	if below == 0 {
		return 0
	}
	return -above / below
}

// until is when free space will have reached a mark, never if it does not shrink.
func (f *forecast) until(mark int64) time.Duration {
	rate := f.growth()
	if rate <= 0 {
		return never
	}
	seconds := (f.free[len(f.free)-1] - float64(mark)) / rate
	if seconds > never.Seconds()/2 {
		return never
	}
	return time.Duration(max(seconds, 0) * float64(time.Second))
}
