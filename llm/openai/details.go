package openai

import (
	"encoding/json"
	"slices"
)

// details collects the reasoning_details of OpenRouter: blocks, some of them encrypted or signed, that have to go back as
// they came. A block streams as pieces with the same index and type, whose texts are joined.
type details struct {
	blocks []map[string]json.RawMessage
	size   int
	forgot bool
}

// maxDetails bounds the blocks that are kept, in bytes.
const maxDetails = 256 << 10

func (d *details) add(raw json.RawMessage) {
	var pieces []map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || d.forgot || json.Unmarshal(raw, &pieces) != nil {
		return
	}
	if d.size += len(raw); d.size > maxDetails {
		d.blocks, d.forgot = nil, true
		return
	}
	for _, p := range pieces {
		if p == nil {
			continue
		}
		i := slices.IndexFunc(d.blocks, func(b map[string]json.RawMessage) bool {
			return p["index"] != nil && string(b["index"]) == string(p["index"]) && string(b["type"]) == string(p["type"])
		})
		if i < 0 {
			d.blocks = append(d.blocks, p)
			continue
		}
		for name, value := range p {
			d.blocks[i][name] = grown(name, d.blocks[i][name], value)
		}
	}
}

// grown joins the texts of a block and replaces what else it has.
func grown(name string, old, more json.RawMessage) json.RawMessage {
	var a, b string
	if !slices.Contains([]string{"text", "summary", "data"}, name) || json.Unmarshal(old, &a) != nil || json.Unmarshal(more, &b) != nil {
		if string(more) == "null" && old != nil {
			return old
		}
		return more
	}
	joined, err := marshal(a + b)
	if err != nil {
		return old
	}
	return joined
}

// encode gives the blocks in the order of their beginnings, nil when there are none.
func (d *details) encode() json.RawMessage {
	if len(d.blocks) == 0 {
		return nil
	}
	raw, err := marshal(d.blocks)
	if err != nil {
		return nil // they came out of a decoder
	}
	return raw
}
