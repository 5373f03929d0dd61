package paint

import (
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Own is false: the console's modes are Bubble Tea's to set.
const Own = false

func busy(error) bool { return false }

// readable is false: the console gives whole events.
func readable(*os.File, time.Duration) bool { return false }

func forgetInput(*os.File) {}

func typedAhead(*os.File) int { return 0 }

// Watch does nothing: Bubble Tea sees new sizes itself.
func (t *Terminal) Watch(func(tea.Msg)) (stop func()) { return func() {} }
