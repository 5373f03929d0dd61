package cli

import (
	"os"
	"os/signal"
	"os/user"
	goruntime "runtime"
	"runtime/debug"
	"syscall"

	"github.com/charmbracelet/x/term"
)

// FromOS is the process as the system started it.
func FromOS() Process {
	p := Process{
		Args: os.Args[1:], Environ: os.Environ(), Login: login,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		In: streamOf(os.Stdin), Out: streamOf(os.Stdout), Err: streamOf(os.Stderr),
		NeedsTerm: goruntime.GOOS != "windows", Version: version(),
	}
	p.ConfigDir, p.ConfigDirErr = os.UserConfigDir()
	p.Home, _ = os.UserHomeDir() // without one, paths with ~ are refused where they stand
	p.Folder, _ = os.Getwd()
	if p.Out == Terminal {
		p.Columns, p.Rows, _ = term.GetSize(os.Stdout.Fd()) // unknown is 0
	}
	return p
}

// streamOf tells terminals, data and nothing apart. A socket counts as data: some programs hand their children one as a pipe.
func streamOf(f *os.File) Stream {
	if term.IsTerminal(f.Fd()) {
		return Terminal
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeDevice != 0 {
		return NoStream
	}
	return Data
}

// login is the name of the system's user.
func login() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// version is the module's version and revision, as the build noted them.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "development"
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " changed"
		}
	}
	return v + revision + dirty + " (" + info.GoVersion + " " + goruntime.GOOS + "/" + goruntime.GOARCH + ")"
}

// OSSignals passes on the signals that ask to stop, but for those that were ignored when the program was started (nohup, a
// job in the background). SIGPIPE is taken too, so that writing to a reader that is gone is an error and no sudden end.
func OSSignals(f func(Signal)) (stop func()) {
	in := make(chan os.Signal, 8)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		if !signal.Ignored(s) {
			signal.Notify(in, s)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range in {
			switch s {
			case os.Interrupt:
				f(Interrupt)
			case syscall.SIGTERM:
				f(Terminate)
			case syscall.SIGHUP:
				f(Hangup)
			}
		}
	}()
	return func() {
		signal.Stop(in)
		close(in)
		<-done
	}
}
