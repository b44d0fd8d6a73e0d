package dnsapi

import "math/rand/v2"

// deck draws records in random order without touching the shared frame. It
// belongs to one goroutine and keeps its memory; a deal is good until the next.
type deck struct {
	cards   []uint32 // always the identity between two deals
	swaps   []uint32
	drawn   []uint32
	offsets []int // scratch of the writer: where SRV targets stand
	random  rand.PCG
}

func newDeck() *deck {
	d := &deck{}
	d.random.Seed(rand.Uint64(), rand.Uint64())
	return d
}

// draw is deal, or with stable the first k of n in their own order: each answer
// begins with the same records then, and a cut one has the same ones as the last.
func (d *deck) draw(n, k int, stable bool) []uint32 {
	if !stable {
		return d.deal(n, k)
	}
	d.grow(n)
	return d.cards[:min(k, n)]
}

// deal draws k out of n: the first k steps of a Fisher-Yates shuffle, undone
// afterwards, so that the cost follows what is sent and not what exists.
func (d *deck) deal(n, k int) []uint32 {
	d.grow(n)
	k = min(k, n)
	if len(d.drawn) < k {
		d.swaps, d.drawn = make([]uint32, k), make([]uint32, k)
	}
	cards, swaps, drawn := d.cards[:n], d.swaps[:k], d.drawn[:k]
	var random uint64
	for i := range drawn {
		if i&1 == 0 {
			random = d.random.Uint64()
		} else {
			random >>= 32
		}
		// Multiply and shift instead of a division; the bias is below n/2^32.
		j := i + int(random&0xffffffff*uint64(n-i)>>32)
		drawn[i], swaps[i] = cards[j], uint32(j)
		cards[i], cards[j] = cards[j], cards[i]
	}
	for i := k - 1; i >= 0; i-- {
		j := swaps[i]
		cards[i], cards[j] = cards[j], cards[i]
	}
	return drawn
}

func (d *deck) grow(n int) {
	for len(d.cards) < n {
		d.cards = append(d.cards, uint32(len(d.cards)))
	}
}
