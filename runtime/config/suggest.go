package config

import "strings"

// Suggest gives the known name that is nearest to a misspelt one, or nothing when none is near.
func Suggest(name string, known []string) string {
	best, bestD := "", len(name)/3+2
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if _, last, ok := strings.Cut(k, "."); ok && last == name {
			d = 1
		}
		if d < bestD {
			best, bestD = k, d
		}
	}
	return best
}

// distance counts the edits between two words, a swap of neighbours being one.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 100 || len(y) > 100 {
		return max(len(x), len(y))
	}
	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(y)]
}
