package cli

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"path"
	"path/filepath"
	"sort"
)

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// result is where write leaves the files.
func (d *debug) result() string {
	if d.archive {
		return d.output + ".tar.gz"
	}
	return d.output
}

// write saves the files as an archive or as a folder. Neither may exist before.
func (d *debug) write() error {
	if !d.archive {
		return d.writeFolder()
	}
	file, err := os.OpenFile(d.result(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := d.writeArchive(file); err != nil {
		_ = file.Close() // the first error is the one to tell
		return err
	}
	return file.Close()
}

func (d *debug) writeFolder() error {
	if err := os.Mkdir(d.output, 0o700); err != nil {
		return err
	}
	for _, name := range sortedNames(d.files) {
		to := filepath.Join(d.output, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, d.files[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (d *debug) writeArchive(file *os.File) error {
	zip := gzip.NewWriter(file)
	out := tar.NewWriter(zip)
	for _, name := range sortedNames(d.files) {
		h := &tar.Header{
			Name: path.Join(filepath.Base(d.output), name), Mode: 0o600,
			Size: int64(len(d.files[name])), ModTime: d.now(),
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(d.files[name]); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zip.Close()
}
