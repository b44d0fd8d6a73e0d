package config

// Definition is a service definition of a file in the JSON shape of the HTTP API.
type Definition struct {
	Place Place
	JSON  Raw
}

// Services reads the service definitions of files, for registering them at an
// agent that runs already. The files need not be a whole configuration.
func Services(paths []string) ([]Definition, error) {
	p := &problems{}
	d := &decoder{problems: p, draft: &draft{Config: *Default()}, set: map[string]Place{}}
	for _, path := range paths {
		d.path(path, "")
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	var out []Definition
	for _, def := range d.draft.services {
		out = append(out, Definition{def.at, def.json})
	}
	return out, nil
}
