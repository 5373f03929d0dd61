// Package builtin holds the tools that need nothing outside of the program: calculator, search_mock and todo.
//
// Each tool is one file with a constructor; All is the one place where they are registered.
package builtin
