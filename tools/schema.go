package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// node is one compiled schema: the subset of JSON Schema that New generates. The general validators are not used because
// importing one costs milliseconds at every start.
type node struct {
	// types is empty when everything is allowed.
	types          []string
	enum           []any
	min, max       *float64
	minLen, maxLen *int
	minItems       *int
	maxItems       *int
	items          *node
	fields         map[string]*node
	order          []string // the fields as they are declared
	required       []string
	rest           *node // of fields that are not declared; nil forbids them
}

// schemaOf makes the schema of a struct type: as JSON for the model, and compiled.
func schemaOf(t reflect.Type) (json.RawMessage, *node, error) {
	if t.Kind() != reflect.Struct {
		return nil, nil, fmt.Errorf("arguments must be a struct, not %s", t)
	}
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("infer schema: %w", err)
	}
	if err := applyTags(t, s, t.Name()); err != nil {
		return nil, nil, err
	}
	n, err := compile(s)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, fmt.Errorf("write schema: %w", err)
	}
	return text, n, nil
}

// applyTags adds what the fields' tags say (enum, min, max, minlen, maxlen, minitems, maxitems), takes null out of the types
// (a field that is left out is how an argument is not given) and refuses what encoding/json would read otherwise than the
// schema says.
func applyTags(t reflect.Type, s *jsonschema.Schema, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	dropNull(s)
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return fmt.Errorf("%s: bytes have no schema of their own, use a string", path)
		}
		return applyTags(t.Elem(), s.Items, path+"[]")
	case reflect.Map:
		return applyTags(t.Elem(), s.AdditionalProperties, path+"{}")
	case reflect.Struct:
		if s.Properties == nil {
			return nil
		}
	default:
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" && opts == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		at := path + "." + name
		if strings.Contains(","+opts+",", ",string,") {
			return fmt.Errorf("%s: the json option string contradicts the schema", at)
		}
		p := s.Properties[name]
		if p == nil {
			return fmt.Errorf("%s: the field has no schema", at)
		}
		if err := applyTags(f.Type, p, at); err != nil {
			return err
		}
		if err := applyFieldTags(f.Tag, p); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

func dropNull(s *jsonschema.Schema) {
	var kept []string
	for _, t := range s.Types {
		if t != "null" {
			kept = append(kept, t)
		}
	}
	if len(kept) == 1 {
		s.Type, s.Types = kept[0], nil
	}
}

func applyFieldTags(tag reflect.StructTag, s *jsonschema.Schema) error {
	for name, set := range map[string]func(float64){
		"min":      func(v float64) { s.Minimum = &v },
		"max":      func(v float64) { s.Maximum = &v },
		"minlen":   func(v float64) { s.MinLength = intPtr(v) },
		"maxlen":   func(v float64) { s.MaxLength = intPtr(v) },
		"minitems": func(v float64) { s.MinItems = intPtr(v) },
		"maxitems": func(v float64) { s.MaxItems = intPtr(v) },
	} {
		text, ok := tag.Lookup(name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("tag %s: %q is no number", name, text)
		}
		if wanted := tagType(name); wanted != s.Type && (wanted != "number" || s.Type != "integer") {
			return fmt.Errorf("tag %s stands on a field of type %s", name, s.Type)
		}
		set(v)
	}
	list, ok := tag.Lookup("enum")
	if !ok {
		return nil
	}
	for word := range strings.SplitSeq(list, ",") {
		switch s.Type {
		case "string":
			s.Enum = append(s.Enum, word)
		case "integer", "number":
			if _, f := scanJSON(word); f != nil {
				return fmt.Errorf("tag enum: %q is no number", word)
			}
			s.Enum = append(s.Enum, json.Number(word))
		default:
			return fmt.Errorf("tag enum stands on a field of type %s", s.Type)
		}
	}
	return nil
}

func intPtr(v float64) *int {
	i := int(v)
	return &i
}

func tagType(name string) string {
	switch name {
	case "minlen", "maxlen":
		return "string"
	case "minitems", "maxitems":
		return "array"
	}
	return "number"
}

// compile takes the parts that the checker knows; any other keyword is an error, so that no schema promises what nobody
// checks.
func compile(s *jsonschema.Schema) (*node, error) {
	known := jsonschema.Schema{
		Title: s.Title, Description: s.Description, Type: s.Type, Types: s.Types, Enum: s.Enum, Minimum: s.Minimum,
		Maximum: s.Maximum, MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems,
		Items: s.Items, Properties: s.Properties, PropertyOrder: s.PropertyOrder, Required: s.Required,
		AdditionalProperties: s.AdditionalProperties,
	}
	if !reflect.DeepEqual(known, *s) {
		return nil, fmt.Errorf("the schema uses a keyword that is not checked")
	}
	n := &node{
		types: s.Types, enum: s.Enum, min: s.Minimum, max: s.Maximum, minLen: s.MinLength, maxLen: s.MaxLength,
		minItems: s.MinItems, maxItems: s.MaxItems, order: s.PropertyOrder, required: s.Required,
	}
	if s.Type != "" {
		n.types = []string{s.Type}
	}
	var err error
	if s.Items != nil {
		if n.items, err = compile(s.Items); err != nil {
			return nil, err
		}
	}
	if len(s.Properties) > 0 {
		n.fields = make(map[string]*node, len(s.Properties))
	}
	for name, p := range s.Properties {
		if n.fields[name], err = compile(p); err != nil {
			return nil, err
		}
	}
	if a := s.AdditionalProperties; a != nil && a.Not == nil {
		if n.rest, err = compile(a); err != nil {
			return nil, err
		}
	} else if a == nil {
		n.rest = &node{}
	}
	return n, nil
}
