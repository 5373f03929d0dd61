package builtin

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"vitrine/tools"
)

// The limits of an expression. They are part of the tool's description.
const (
	maxExpression = 4000 // characters
	maxDepth      = 200  // parentheses, signs and powers inside each other
	maxDigits     = 2000 // of numerator and denominator of every value
	// maxBits is maxDigits in bits.
	maxBits = maxDigits * 3322 / 1000
	// exactPlaces is how many decimal places a decimal that ends may have to be given whole.
	exactPlaces = 100
	// roundedDigits is how many significant digits any other decimal gets.
	roundedDigits = 30
	// maxFraction is how long an exact fraction may be to be given beside the rounded decimal, in characters.
	maxFraction = 400
)

type calculatorIn struct {
	Expression string `json:"expression" jsonschema:"the arithmetic expression, such as (17+5)*3"`
}

type calculatorOut struct {
	Result string `json:"result"`
	// Exact is the fraction when the decimal was rounded.
	Exact string `json:"exact,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Calculator makes the tool that computes with exact rational numbers.
func Calculator() tools.Tool {
	return tools.New("calculator", fmt.Sprintf("Computes an arithmetic expression exactly. Operators: + - * / // (floor division) "+
		"%% (modulo with the divisor's sign) ** or ^ (power with a whole exponent, from right to left, before a sign), parentheses. "+
		"Decimal numbers only: 1.5, 1,000 (groups of three), 1_000, 1e3. No functions, names or units. "+
		"The result is a decimal; one that does not end, or has more than %d places, is rounded to %d significant digits and comes with the exact fraction. "+
		"Limits: %d characters, nesting %d, %d digits in any value.",
		exactPlaces, roundedDigits, maxExpression, maxDepth, maxDigits),
		tools.ReadOnly, calculate, tools.WithDeadline(5*time.Second))
}

func calculate(ctx context.Context, _ tools.Call, in calculatorIn) (tools.Output, error) {
	v, err := evaluate(ctx, in.Expression)
	if err != nil {
		return tools.Output{}, err
	}
	out := decimal(v)
	return tools.Output{Data: out, Summary: out.Result}, nil
}

// decimal writes a value as the tool's answer.
func decimal(v *big.Rat) calculatorOut {
	if v.IsInt() {
		return calculatorOut{Result: v.Num().String()}
	}
	if places, ends := v.FloatPrec(); ends && places <= exactPlaces {
		return calculatorOut{Result: v.FloatString(places)}
	}
	var out calculatorOut
	out.Result, out.Note = rounded(v)
	if exact := v.RatString(); len(exact) <= maxFraction {
		out.Exact = exact
	}
	return out
}

// rounded gives v with roundedDigits significant digits, or all digits in front of the point if there are more, half away
// from zero, and says which. Very small values have the form 1.5e-30.
func rounded(v *big.Rat) (text, note string) {
	note = fmt.Sprintf("rounded to %d significant digits", roundedDigits)
	abs := new(big.Rat).Abs(v)
	sign := ""
	if v.Sign() < 0 {
		sign = "-"
	}
	// The number of places in front of the point is known within one from the lengths; the first try corrects it.
	order := len(abs.Num().String()) - len(abs.Denom().String())
	if abs.Cmp(pow10(order)) < 0 {
		order--
	}
	// Now 10^order <= abs < 10^(order+1).
	switch {
	case order >= roundedDigits-1:
		return sign + abs.FloatString(0), "rounded to a whole number"
	case order >= -20:
		return sign + trimZeros(abs.FloatString(roundedDigits-1-order)), note
	}
	mantissa := trimZeros(abs.Mul(abs, pow10(-order)).FloatString(roundedDigits - 1))
	if mantissa == "10" {
		mantissa, order = "1", order+1
	}
	return fmt.Sprintf("%s%se%d", sign, mantissa, order), note
}

func pow10(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// trimZeros takes the zeros off the end of a number with a point.
func trimZeros(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
