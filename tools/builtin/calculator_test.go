package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goparser "go/parser"
	"go/token"
	"math/big"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"vitrine/tools"
)

// calc runs the tool as the executor does.
func calc(t testing.TB, expression string) (calculatorOut, *tools.Error) {
	t.Helper()
	args, err := json.Marshal(calculatorIn{Expression: expression})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Calculator().Run(context.Background(), tools.Call{}, args)
	var e *tools.Error
	if errors.As(err, &e) {
		return calculatorOut{}, e
	}
	if err != nil {
		t.Fatal(err)
	}
	got := out.Data.(calculatorOut)
	if out.Summary != got.Result {
		t.Errorf("%s: summary %q, result %q", expression, out.Summary, got.Result)
	}
	return got, nil
}

func TestCalculatorValues(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"(17+5)*3", "66"},
		{"1.2*35.28", "42.336"},
		{" 1 + 2 ", "3"},
		{"2+3*4", "14"},
		{"2-3-4", "-5"},
		{"100/10/2", "5"},
		{"7/2", "3.5"},
		{"7//2", "3"},
		{"-7//2", "-4"},
		{"7//-2", "-4"},
		{"7.5//2", "3"},
		{"2**10", "1024"},
		{"2^10", "1024"},
		{"2**3**2", "512"},
		{"-2**2", "-4"},
		{"(-2)**2", "4"},
		{"2**-1", "0.5"},
		{"2^-2^0", "0.5"},
		{"0**0", "1"},
		{"0**5", "0"},
		{"(-1)**1000000000001", "-1"},
		{"(-1)**10000000000000000000000000000000000", "1"},
		{"1**99999999999999999999", "1"},
		{"(2/3)**-2", "2.25"},
		{"1.50", "1.5"},
		{".5+5.", "5.5"},
		{"--5", "5"},
		{"+-+5", "-5"},
		{"3*-2", "-6"},
		{"007", "7"},
		{"1\n+\t1", "2"},
		{"2*(3+(4-1))/6", "2"},
		// B130: modulo is floored and binds like multiplication.
		{"5 % -2", "-1"},
		{"-7 % 3", "2"},
		{"-(7 % 3)", "-1"},
		{"7.5 % 2", "1.5"},
		{"10 - 7 % 3", "9"},
		{"-7.5 % -2", "-1.5"},
		// B131: nothing of binary floating point.
		{"0.1+0.2", "0.3"},
		{"37.8+2.9", "40.7"},
		{"1.1*3", "3.3"},
		{"9007199254740993-1", "9007199254740992"},
		{"10^100+1-10^100", "1"},
		{"1/3*3", "1"},
		{"0.1*3-0.3", "0"},
		{"123456789*987654321", "121932631112635269"},
		// B134: normalised.
		{"３＋４", "7"},
		{"（３．５－１）＊２／５％４", "1"},
		{"２＾３", "8"},
		{"２＊＊３", "8"},
		{"１，０００", "1000"},
		{"1,000+2,000", "3000"},
		{"1,234,567.25", "1234567.25"},
		{"6×7÷2−1", "20"},
		{"6∗7∕2", "21"},
		{"1e3", "1000"},
		{"1.5E-2", "0.015"},
		{"2e+2", "200"},
		{"1_000", "1000"},
		{"1_0.2_5", "10.25"},
		{"1\u3000+\u00a02", "3"},
	} {
		got, err := calc(t, tt.in)
		if err != nil {
			t.Errorf("%s: %s", tt.in, err.Message)
			continue
		}
		if got != (calculatorOut{Result: tt.want}) {
			t.Errorf("%s: got %+v, want %s", tt.in, got, tt.want)
		}
	}
}

func TestCalculatorRounding(t *testing.T) {
	const sig = "rounded to 30 significant digits"
	for _, tt := range []struct{ in, want, exact, note string }{
		{"1/3", "0.333333333333333333333333333333", "1/3", sig},
		{"-2/3", "-0.666666666666666666666666666667", "-2/3", sig},
		{"100/7", "14.2857142857142857142857142857", "100/7", sig},
		{"1/3e25", "3.33333333333333333333333333333e-26", "1/30000000000000000000000000", sig},
		{"1/7e10", "0.0000000000142857142857142857142857142857", "1/70000000000", sig},
		{"10^40+1/3", "10000000000000000000000000000000000000000", "30000000000000000000000000000000000000001/3", "rounded to a whole number"},
		{"1-10^-50/3", "1", "299999999999999999999999999999999999999999999999999/300000000000000000000000000000000000000000000000000", sig},
		{"10^-40*(1-10^-50/3)", "1e-40", "", sig},
		{"2^-100", "0.0000000000000000000000000000007888609052210118054117285652827862296732064351090230047702789306640625", "", ""},
		{"2^-110", "7.70371977754894341222391177034e-34", "1/1298074214633706907132624082305024", sig},
		{"2^-6000", "6.6073302758056549920833976292e-1807", "", sig},
	} {
		got, err := calc(t, tt.in)
		if err != nil {
			t.Errorf("%s: %s", tt.in, err.Message)
			continue
		}
		if got.Result != tt.want || got.Note != tt.note || tt.exact != "" && got.Exact != tt.exact {
			t.Errorf("%s: got %+v, want %s", tt.in, got, tt.want)
		}
	}
}

func TestCalculatorErrors(t *testing.T) {
	rep := strings.Repeat
	for _, tt := range []struct{ in, want string }{
		// B127 B128: a limit stops them, not the stack.
		{rep("(", 100_000) + "1" + rep(")", 100_000), "too long"},
		{rep("-", 100_000) + "1", "too long"},
		{rep("2**", 100_000), "too long"},
		{rep("(", 1<<20), "too long"},
		{rep("sqrt(", 100_000), "too long"},
		{rep("(", 1900) + "1" + rep(")", 1900), "too deep"},
		{rep("-", 3000) + "1", "too deep"},
		{rep("1**", 1200) + "1", "too deep"},
		{rep("(", maxExpression), "too deep"},
		{rep("sqrt(", 700), "position 1"},
		{"1" + rep("+1", 500_000), "too long"},
		{rep("9", 500_000), "too long"},
		{rep(" ", 1_000_000) + "1", "too long"},
		{rep("9", 3000), "result too large"},
		// B125
		{"9**9**9", "result too large"},
		{"9**9**9**9", "result too large"},
		{"10**10**10", "result too large"},
		{"9^9^9^9", "result too large"},
		{"1<<10000000", "position 2: expected an operator or the end, found '<'"},
		{"2**-99999999999", "result too large"},
		{"2**99999999999999999999999", "result too large"},
		{"(1/3)**5000", "result too large"},
		{"1e2001", "result too large"},
		{"1e-99999999999999999999", "result too large"},
		{"10^1500*10^1500", "result too large"},
		{"(2^6000)^2", "result too large"},
		{"2^6644", "result too large"},
		// B130
		{"5 % 0", "position 5: division by zero"},
		{"1/0", "division by zero"},
		{"1//(2-2)", "division by zero"},
		{"6÷0", "division by zero"},
		{"0**-1", "division by zero"},
		{"4**0.5", "position 2: the exponent must be a whole number, it is 0.5"},
		// B133: an error with the position, nothing is executed.
		{"__import__('os').system('touch pwn')", "position 1: expected a number or '(', found '_'"},
		{"import os", "position 1"},
		{"open('/etc/passwd')", "position 1"},
		{"$(id)", "position 1"},
		{"`id`", "position 1"},
		{"1;2", "position 2"},
		{"x=5", "position 1: expected a number or '(', found 'x'; names"},
		{"What is 3 plus 4?", "position 1"},
		{"", "the expression is empty"},
		{"  \n", "the expression is empty"},
		{`"3+4"`, `position 1: expected a number or '(', found '"'`},
		{"3+4=", "position 4"},
		{"sqrt(2)", "position 1"},
		{"2 pi", "position 3"},
		// B134: the character and its position.
		{"1.000,5+1", "position 6: expected an operator or the end of the number, found ','"},
		{"1,5", "position 2"},
		{"1,5+1", "found ','; a comma is taken only between groups of three digits"},
		{"1，5", "position 2: expected an operator or the end of the number, found '，' (U+FF0C); a comma"},
		{"1,00", "position 2"},
		{"1,0000", "position 2"},
		{"0,500", "position 2"},
		{"1234,567", "position 5"},
		{"1,000,00", "position 2"},
		{"1,000_000", "position 2"},
		{"1_0,000", "position 4"},
		{"1,000,", "position 2"},
		{"1 000+1", "position 3: expected an operator or the end, found '0'; nothing is multiplied without *, and numbers hold no space"},
		{"1 ,000", "position 3"},
		{"١٢+١", "position 1: expected a number or '(', found '١' (U+0661); only the digits 0 to 9 are taken"},
		{"2³", "position 2: expected an operator or the end of the number, found '³' (U+00B3); write a power with **"},
		{"½+½", "position 1: expected a number or '(', found '½' (U+00BD)"},
		{"٫5", "position 1: expected a number or '(', found '٫' (U+066B)"},
		{"0x10", "position 2: expected an operator or the end of the number, found 'x'"},
		{"1__0", "position 2"},
		{"1_", "position 2: expected an operator or the end of the number, found '_'; an underscore"},
		{"1.5.2", "position 4"},
		{"1e", "position 2"},
		{"1e+", "position 2"},
		{"1e3e", "position 4"},
		{"3–4", "(U+2013)"},
		{"2√", "(U+221A)"},
		// Shapes
		{"1+", "ends where a number or '(' is expected (position 3)"},
		{"(1", "ends where an operator or ')' is expected (position 3)"},
		{"1)", "position 2"},
		{"()", "position 2"},
		{"1(2)", "position 2"},
		{"(1)(2)", "position 4"},
		{"*1", "position 1"},
		{"2****3", "position 4"},
		{"6××2", "position 3"},
		{"6÷÷2", "position 3"},
		{"50%", "ends where"},
		{".", "position 1"},
		{"5..", "position 3"},
		{"1\x1b[31m", `'\x1b'`},
		{"1\u202e", `'\u202e'`},
		{"1\x00", "position 2"},
	} {
		got, err := calc(t, tt.in)
		name := tt.in[:min(len(tt.in), 40)]
		if err == nil {
			t.Errorf("%q gave %+v", name, got)
			continue
		}
		if err.Code != tools.CodeInvalidArgument || err.Field != "expression" || !strings.Contains(err.Message, tt.want) {
			t.Errorf("%q: %s: %q, want %q", name, err.Code, err.Message, tt.want)
		}
		if strings.ContainsAny(err.Message, "\x1b\u202e\x00") {
			t.Errorf("%q: unsafe message %q", name, err.Message)
		}
	}
	if _, err := os.Stat("pwn"); err == nil {
		t.Error("the expression was executed")
	}
}

// B133: no code of the calculator can start a process, load code or reach beyond its numbers.
func TestCalculatorReachesNothing(t *testing.T) {
	allowed := []string{"context", "encoding/json", "errors", "fmt", "math", "math/big", "strconv", "strings", "time", "unicode", "unicode/utf8", "vitrine/tools"}
	for _, name := range []string{"calculator.go", "expression.go"} {
		f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// B127: a depth of 100 works.
func TestCalculatorDepth(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100),
		strings.Repeat("-", 100) + "1",
		strings.Repeat("1**", 100) + "1",
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + "*((1))",
	} {
		if got, err := calc(t, in); err != nil || got.Result != "1" {
			t.Errorf("%s: %+v %v", in[:20], got, err)
		}
	}
	if got, err := calc(t, "1"+strings.Repeat("+1", 1999)); err != nil || got.Result != "2000" {
		t.Errorf("a long sum: %+v %v", got, err)
	}
}

// B125 B127 B128: what is refused costs next to nothing. Memory stands for time, which depends on the machine.
func TestCalculatorCost(t *testing.T) {
	tool := Calculator()
	for _, in := range []string{
		"9**9**9", "9**9**9**9", "10**10**10", "9^9^9^9", "2**-99999999999", "1e-99999999999999999999",
		strings.Repeat("(", 100_000), strings.Repeat("-", 3000) + "1", strings.Repeat("9", 500_000), strings.Repeat(" ", 1_000_000) + "1",
		"1" + strings.Repeat("+1", 500_000), strings.Repeat("(1/3)**3000*", 300) + "1",
	} {
		args, err := json.Marshal(calculatorIn{Expression: in})
		if err != nil {
			t.Fatal(err)
		}
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		_, _ = tool.Run(context.Background(), tools.Call{}, args)
		goruntime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Errorf("%.20s: %d bytes", in, n)
		}
	}
	// Refusing a power is as cheap, however high the tower is.
	refuse := func(in string) float64 {
		return testing.AllocsPerRun(20, func() {
			if _, err := evaluate(context.Background(), in); err == nil {
				t.Error("accepted")
			}
		})
	}
	if small, large := refuse("9**9999"), refuse("9**9**9"); large > 3*small {
		t.Errorf("%v allocations against %v", large, small)
	}
}

// The most expensive expressions that are taken still end, because every value is bounded.
func TestCalculatorWorst(t *testing.T) {
	var b strings.Builder
	for i := 3; b.Len() < 3900; i += 2 {
		fmt.Fprintf(&b, "1/%d+", i)
	}
	if got, err := calc(t, b.String()+"0"); err != nil || got.Note == "" {
		t.Errorf("%+v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := evaluate(ctx, "1+1"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCalculatorDescription(t *testing.T) {
	d := Calculator().Description()
	for _, w := range []string{"4000 characters", "nesting 200", "2000 digits", "30 significant digits", "//", "%", "**"} {
		if !strings.Contains(d, w) {
			t.Errorf("the description lacks %q: %s", w, d)
		}
	}
	if Calculator().Effect() != tools.ReadOnly {
		t.Error("effect")
	}
}

// expr is a random expression as text, with its value as big.Rat computes it; nil where it has none.
type expr struct {
	text  string
	value *big.Rat
	level int // 1 sum, 2 product, 3 signed, 4 power, 5 atom
}

func (e expr) at(level int) string {
	if e.level < level {
		return "(" + e.text + ")"
	}
	return e.text
}

func drawExpr(t *rapid.T, depth int) expr {
	sp := rapid.SampledFrom([]string{"", " "}).Draw(t, "space")
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		n := rapid.IntRange(0, 99_999).Draw(t, "n")
		text := fmt.Sprint(n)
		if rapid.Bool().Draw(t, "fraction") {
			text = fmt.Sprintf("%d.%02d", n/100, n%100)
		}
		v, _ := new(big.Rat).SetString(text)
		return expr{text, v, 5}
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/", "//", "%", "neg", "()", "**"}).Draw(t, "op")
	a := drawExpr(t, depth-1)
	switch op {
	case "neg":
		if a.value == nil {
			return expr{"-" + sp + a.at(3), nil, 3}
		}
		return expr{"-" + sp + a.at(3), new(big.Rat).Neg(a.value), 3}
	case "()":
		return expr{"(" + sp + a.text + sp + ")", a.value, 5}
	case "**":
		n := rapid.IntRange(-3, 3).Draw(t, "exponent")
		e := expr{text: fmt.Sprintf("%s%s**%s%d", a.at(5), sp, sp, n), level: 4}
		if a.value == nil || a.value.Sign() == 0 && n < 0 {
			return e
		}
		e.value = big.NewRat(1, 1)
		for range max(n, -n) {
			e.value.Mul(e.value, a.value)
		}
		if n < 0 {
			e.value.Inv(e.value)
		}
		return e
	}
	b := drawExpr(t, depth-1)
	level := 2
	if op == "+" || op == "-" {
		level = 1
	}
	e := expr{text: a.at(level) + sp + op + sp + b.at(level+1), level: level}
	if a.value == nil || b.value == nil {
		return e
	}
	v := new(big.Rat)
	switch op {
	case "+":
		e.value = v.Add(a.value, b.value)
	case "-":
		e.value = v.Sub(a.value, b.value)
	case "*":
		e.value = v.Mul(a.value, b.value)
	default:
		if b.value.Sign() == 0 {
			return e
		}
		q := v.Quo(a.value, b.value)
		whole := new(big.Int).Quo(q.Num(), q.Denom()) // towards zero
		if q.Sign() < 0 && !q.IsInt() {
			whole.Sub(whole, big.NewInt(1))
		}
		f := new(big.Rat).SetInt(whole)
		switch op {
		case "/":
			e.value = q
		case "//":
			e.value = f
		case "%":
			e.value = new(big.Rat).Sub(a.value, f.Mul(f, b.value))
		}
	}
	return e
}

func TestCalculatorAgainstRat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := drawExpr(rt, 4)
		got, err := evaluate(context.Background(), e.text)
		if e.value == nil {
			if err == nil || !strings.Contains(err.Error(), "division by zero") {
				rt.Fatalf("%s: %v %v", e.text, got, err)
			}
			return
		}
		if err != nil {
			if strings.Contains(err.Error(), "result too large") || strings.Contains(err.Error(), "too long") {
				rt.Skip("over a limit")
			}
			rt.Fatalf("%s: %v", e.text, err)
		}
		if got.Cmp(e.value) != 0 {
			rt.Fatalf("%s: got %s, want %s", e.text, got, e.value)
		}
		// The decimal reads back as the value, or within half a unit of its last digit.
		out := decimal(got)
		back, err := evaluate(context.Background(), out.Result)
		if err != nil {
			rt.Fatalf("%s: result %s: %v", e.text, out.Result, err)
		}
		if out.Note == "" && back.Cmp(got) != 0 {
			rt.Fatalf("%s: result %s is not exact", e.text, out.Result)
		}
		diff := new(big.Rat).Sub(back, got)
		if bound := new(big.Rat).Mul(new(big.Rat).Abs(got), pow10(-29)); diff.Abs(diff).Cmp(bound) > 0 {
			rt.Fatalf("%s: result %s is off by %s", e.text, out.Result, diff.FloatString(40))
		}
		if out.Exact != "" {
			if x, err := evaluate(context.Background(), out.Exact); err != nil || x.Cmp(got) != 0 {
				rt.Fatalf("%s: exact %s: %v", e.text, out.Exact, err)
			}
		}
	})
}

func FuzzCalculator(f *testing.F) {
	for _, s := range []string{"(17+5)*3", "1/3", "-7 % 3", "9**9**9", "1,000.5e-3", "３＋４", "2^-6000", "1_0//.5", "6×7÷2−1", "0x10", "½"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v, err := evaluate(context.Background(), in)
		if err != nil {
			var e *tools.Error
			if !errors.As(err, &e) || !utf8.ValidString(e.Message) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		out := decimal(v)
		back, err := evaluate(context.Background(), out.Result)
		if err != nil && out.Note != "" && strings.Contains(err.Error(), "result too large") {
			return // its digits reach below the smallest value that is taken
		}
		if err != nil || out.Note == "" && back.Cmp(v) != 0 {
			t.Fatalf("%q gave %s, which reads as %v, %v", in, out.Result, back, err)
		}
	})
}
