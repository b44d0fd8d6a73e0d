package snapshot

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/muster-discovery/muster/internal/fsm"
)

// The archive's files, in their order.
const (
	metaFile  = "meta.json"
	stateFile = "state.bin"
	sumsFile  = "SHA256SUMS"
)

// Archive is one that is going to be written.
type Archive struct {
	Meta  Meta
	image *fsm.Image
	sum   []byte // of the state
}

// Prepare makes an archive of the image. Of meta, Term, Node, Datacenter, Time and
// Muster are the caller's. The image is encoded here to learn its size and sum, and
// once more by WriteTo: that costs less than a copy on disk.
func Prepare(meta Meta, image *fsm.Image) (*Archive, error) {
	sum := sha256.New()
	summary, err := image.Write(sum)
	if err != nil {
		return nil, err
	}
	meta.Time = meta.Time.UTC().Truncate(time.Millisecond)
	meta.complete(summary)
	return &Archive{Meta: meta, image: image, sum: sum.Sum(nil)}, nil
}

// WriteTo writes the archive. Equal states and metas give equal bytes.
func (a *Archive) WriteTo(to io.Writer) (int64, error) {
	counted := &counting{to: to}
	err := a.write(counted)
	return counted.n, err
}

func (a *Archive) write(to io.Writer) error {
	text, err := json.MarshalIndent(a.Meta, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", metaFile, err)
	}
	text = append(text, '\n')
	sums := fmt.Sprintf("%x  %s\n%x  %s\n", sha256.Sum256(text), metaFile, a.sum, stateFile)

	// The state is mostly text that repeats itself: the fastest level finds most of it.
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zip)
	for _, f := range []struct {
		name    string
		size    int64
		content io.WriterTo
	}{
		{metaFile, int64(len(text)), bytesOf(text)},
		{stateFile, a.Meta.StateBytes, a.image},
		{sumsFile, int64(len(sums)), bytesOf(sums)},
	} {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: f.size, Mode: 0o600, ModTime: a.Meta.Time}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := f.content.WriteTo(out); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zip.Close()
}

type counting struct {
	to io.Writer
	n  int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

type bytesOf string

func (b bytesOf) WriteTo(to io.Writer) (int64, error) {
	n, err := io.WriteString(to, string(b))
	return int64(n), err
}
