package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"vitrine/llm/price"
)

// priceTable is the table of the file with what models cost.
const priceTable = "price"

// mostPrice is above what any model costs, in dollars for a million tokens: more is a slip of the point.
const mostPrice = 100_000

// priceSpec is one model's table as the file has it.
type priceSpec struct {
	Input  *float64 `toml:"input"`
	Output *float64 `toml:"output"`
	Cached *float64 `toml:"cached"`
}

// setPrices reads the prices of the file. What is no TOML at all was told before.
func setPrices(cfg *Config, in Inputs) (errs []error) {
	if !bytes.Contains(in.File, []byte(priceTable)) {
		return nil
	}
	var file struct {
		Price map[string]priceSpec `toml:"price"`
	}
	err := toml.NewDecoder(bytes.NewReader(in.File)).DisallowUnknownFields().Decode(&file)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		for i := range unknown.Errors {
			if e := &unknown.Errors[i]; e.Key()[0] == priceTable {
				errs = append(errs, priceError(e, in.FilePath, "is no key of a price: it has input, output and cached"))
			}
		}
	case errors.As(err, &wrong):
		if key := wrong.Key(); len(key) > 0 && key[0] == priceTable {
			return []error{priceError(wrong, in.FilePath, "must be a number, in dollars for a million tokens")}
		}
		return nil
	case err != nil:
		return nil
	}
	names := make([]string, 0, len(file.Price))
	for name := range file.Price {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		spec := file.Price[name]
		for _, v := range []struct {
			key   string
			value *float64
			need  bool
		}{{"input", spec.Input, true}, {"output", spec.Output, true}, {"cached", spec.Cached, false}} {
			key := priceTable + "." + name + "." + v.key
			switch {
			case v.value == nil && v.need:
				errs = append(errs, &Error{Name: key, Place: in.FilePath, Allowed: "must be set, in dollars for a million tokens"})
			case v.value != nil && !(*v.value >= 0 && *v.value <= mostPrice):
				errs = append(errs, &Error{Name: key, Place: in.FilePath, Value: fmt.Sprint(*v.value), Allowed: fmt.Sprintf("must be from 0 to %d, in dollars for a million tokens", mostPrice)})
			}
		}
		if len(errs) == 0 {
			if cfg.Prices == nil {
				cfg.Prices = map[string]price.Price{}
			}
			cfg.Prices[name] = price.Price{Input: *spec.Input, Output: *spec.Output, Cached: spec.Cached}
		}
	}
	return errs
}

func priceError(e *toml.DecodeError, path, allowed string) error {
	row, col := e.Position()
	return &Error{Name: strings.Join(e.Key(), "."), Place: fmt.Sprintf("%s:%d:%d", path, row, col), Allowed: allowed}
}

// samplePrices is the part of the sample file that shows a price.
const samplePrices = `
# What a model costs, in US dollars for a million tokens; it comes before the built-in list prices, at every endpoint. Versions with a
# date behind the name count too.
# [price.my-model]
# input = 0.5
# cached = 0.05                                # of the prompt, what the provider had in its cache; without it as input
# output = 1.5
`
