package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vitrine/runtime"
	"vitrine/runtime/config"
	"vitrine/ui"
	"vitrine/ui/words"
)

// options are the flags of all commands; each command registers those that it has.
type options struct {
	session string
	goOn    bool
	model   string
	user    string
	json    bool
	run     string
	prefix  bool
	yes     bool
	sample  bool
	check   bool
	// protocol is how the model is told of tools.
	protocol string
	// renderer is who paints the screen.
	renderer string
	// plain is the transcript in place of the screen.
	plain   bool
	traffic Traffic
	expect  expectations
	resume  string
	// outcomes are the user's words on calls whose outcome nobody knows.
	outcomes []string
	// approve and deny are calls of --session's run that wait for a word; reason goes with deny.
	approve, deny []string
	reason        string
}

// Who can paint the screen.
const (
	rendererOwn   = "own"
	rendererStock = "stock"
)

const longHelp words.Text = `Vitrine is an agent runtime you can see through, in a terminal.

Without a command it opens the screen: chats in tabs, a live trace of every step, the session's todos.
Without a key it answers with a built-in offline model; vitrine doctor shows what holds and how to change it.
It speaks English and Simplified Chinese: the locale's language, or AGENT_LANG=en or zh.

Exit codes: 0 succeeded, 1 failed, 2 wrong usage or configuration, 3 waits for you, 4 a budget ran out, 130 interrupted.`

func (c *command) execute(ctx context.Context) error {
	root := c.root()
	root.SetArgs(c.proc.Args)
	root.SetOut(writerOf(c.out))
	root.SetErr(writerOf(c.err))
	root.SetIn(strings.NewReader(""))
	err := root.ExecuteContext(ctx)
	if err != nil && c.stop.stopped() && errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

func (c *command) root() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "vitrine",
		Short:         c.T("An agent runtime you can see through, in a terminal"),
		Long:          c.T(longHelp),
		Version:       c.proc.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          rootArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.plain {
				return c.plain(cmd.Context(), o)
			}
			return c.screen(cmd.Context(), o)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("vitrine {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return o.validate(cmd) }
	root.PersistentFlags().StringVar(&o.user, "user", "", c.T("whose sessions these are (default: the login name)"))
	f := root.Flags()
	f.StringVar(&o.session, "session", "", c.T("open this session in front; it is made when it does not exist"))
	f.BoolVar(&o.goOn, "continue", false, c.T("open the kept tabs and no other, even when another process holds them all"))
	f.StringVar(&o.model, "model", "", c.T("the model to use; offline is the built-in one"))
	f.BoolVar(&o.plain, "plain", false, c.T("a transcript, line after line, in place of the screen: for screen readers and simple terminals"))
	f.StringVar(&o.renderer, "renderer", rendererOwn, c.T("who paints the screen: own (the default), or stock (Bubble Tea's) for a terminal that shows it wrong"))
	f.Lookup("renderer").DefValue = "" // it is told in the text, in the language
	c.protocolFlag(o, f)
	c.trafficFlags(&o.traffic, f)
	root.AddCommand(c.runCommand(o), c.sessionsCommand(o), c.traceCommand(o), c.modelsCommand(o), c.doctorCommand(o), c.demoCommand(o))
	c.speakHelp(root)
	return root
}

func (c *command) protocolFlag(o *options, f *pflag.FlagSet) {
	f.StringVar(&o.protocol, "protocol", "", c.T("how the model calls tools: native, or as text for models that cannot: json or react"))
}

// validate refuses what no command takes. Empty values are nearly always a variable that was meant to be set.
func (o *options) validate(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = &UsageError{What: "--" + f.Name + " has an empty value", Do: "give one, or leave the flag out"}
		}
	})
	if err == nil {
		err = o.traffic.check()
	}
	if err != nil {
		return err
	}
	if o.renderer != rendererOwn && o.renderer != rendererStock {
		return &UsageError{What: "--renderer is " + strconv.Quote(o.renderer), Do: "allowed are own and stock"}
	}
	if o.session != "" {
		if e := runtime.CheckSessionID(o.session); e != nil {
			return &UsageError{What: "--session: " + e.Error()}
		}
		if o.goOn {
			return &UsageError{What: "--session and --continue exclude each other", Do: "use one of them"}
		}
	}
	return nil
}

// rootArgs refuses words that are no command, and says what may have been meant.
func rootArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	e := &UsageError{What: fmt.Sprintf("%q is not a command of vitrine", args[0])}
	if s := config.Suggest(args[0], names); s != "" {
		e.Do = "did you mean " + s + "?"
	} else {
		slices.Sort(names)
		e.Do = `to ask something use vitrine run "..."; the commands are ` + strings.Join(names, ", ")
	}
	return e
}

// flagError names the flag that is nearest to an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	e := &UsageError{What: err.Error(), Do: "vitrine " + helpOf(cmd) + " lists the flags"}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return e
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	e.What = "unknown flag --" + name
	if len([]rune(name)) == 1 {
		e.What = "unknown flag -" + name
	}
	if s := config.Suggest(name, names); s != "" {
		e.Do = "did you mean --" + s + "?"
	} else if cmd.Name() == "run" {
		e.Do += `; a prompt that starts with - goes behind --`
	}
	return e
}

func helpOf(cmd *cobra.Command) string {
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
	return strings.TrimSpace(path + " --help")
}

// noArgs refuses arguments of a command that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &UsageError{What: fmt.Sprintf("%s takes no argument %q", cmd.CommandPath(), args[0]), Do: "vitrine " + helpOf(cmd)}
	}
	return nil
}

// configFileError is a configuration file that cannot be read.
type configFileError struct{ err error }

func (e *configFileError) Error() string { return e.err.Error() }
func (e *configFileError) Unwrap() error { return e.err }

// load reads the configuration.
func (c *command) load(o *options) (config.Config, error) {
	in, err := c.inputs(o)
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Load(in)
	if err == nil {
		err = ui.CheckKeys(cfg.Keys)
	}
	if err == nil {
		c.logPath = LogPath(cfg)
		c.prog.Crash.logTo(c.logPath)
		err = o.traffic.usable(cfg)
	}
	return cfg, err
}

// inputs reads what the configuration is made of.
func (c *command) inputs(o *options) (config.Inputs, error) {
	environ, err := o.traffic.stage(c.proc.Environ)
	if err != nil {
		return config.Inputs{}, err
	}
	in := config.Inputs{
		Flags:   config.Flags{Model: o.model, User: o.user, Protocol: o.protocol},
		Environ: environ,
		Home:    c.proc.Home,

		RuleNames: c.prog.RuleNames,
	}
	if o.user == "" {
		in.Login = c.proc.Login()
	}
	if c.proc.ConfigDirErr == nil {
		in.FilePath = config.FilePath(c.proc.ConfigDir)
		data, err := config.ReadFile(in.FilePath)
		if err != nil {
			return config.Inputs{}, &configFileError{err}
		}
		in.File = data
	}
	return in, nil
}

// language is the one to speak. It is known before anything of the command line is, for errors and --help are told in it.
func (c *command) language() words.Lang {
	in := config.Inputs{Environ: c.proc.Environ}
	if c.proc.ConfigDirErr == nil {
		in.FilePath = config.FilePath(c.proc.ConfigDir)
		in.File, _ = config.ReadFile(in.FilePath) // load tells of a file that cannot be read
	}
	return words.Choose(string(config.LangOf(in)), func(name string) string { return variable(c.proc.Environ, name) })
}

// T is one of our texts in the language of the command; see package words.
func (c *command) T(t words.Text, args ...any) string { return c.lang.T(t, args...) }

// writerOf lets cobra write through an output.
func writerOf(o *output) writerFunc {
	return func(p []byte) (int, error) {
		o.raw(string(p))
		return len(p), o.err
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
