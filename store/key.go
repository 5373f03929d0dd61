package store

// Messages and events have the integer key num << 32 | n, where num is the number of their session and n their own in it, from 1:
// in order, appended, without an index beside it.

const (
	// keyBits is how many bits of a key are the row's own number.
	keyBits = 32
	// noKeyAbove is behind the number of every row.
	noKeyAbove = 1<<keyBits - 1
	// Of the session that is the next parameter: the key in front of its first row, and the one behind its last.
	keyBefore = "(SELECT num << 32 FROM sessions WHERE id = ?)"
	keyBehind = "(SELECT num << 32 | 4294967295 FROM sessions WHERE id = ?)"
)

// keyOf is the key of row n of session num.
func keyOf(num, n int64) int64 { return num<<keyBits | n }

// withinKeys makes a number that a caller gave one that leads to no other session's rows.
func withinKeys(n int64) int64 { return min(max(n, 0), noKeyAbove) }
