package demo

import "vitrine/ui/emulator"

// Screen is what the terminal of a play shows at a moment.
type Screen = emulator.Screen
