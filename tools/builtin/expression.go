package builtin

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"vitrine/tools"
)

// evaluate computes an expression. Its grammar, from the weakest binding to the strongest:
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "//" | "%" | "×" | "÷") signed }
//	signed  = ("+" | "-") signed | power
//	power   = atom [ ("**" | "^") signed ]
//	atom    = number | "(" sum ")"
//
// Full-width digits, operators, parentheses, points and commas count as their plain forms, × ÷ − ∗ ∕ as operators; space
// separates. Every other character is an error that names it and its position, counted in characters from 1.
//
// Values are computed while reading, so that no tree can grow; each has at most maxDigits digits, which for powers is checked
// before they are computed.
func evaluate(ctx context.Context, expression string) (*big.Rat, error) {
	if len(expression) > maxExpression*utf8.UTFMax || utf8.RuneCountInString(expression) > maxExpression {
		return nil, bad("the expression is too long: at most %d characters are taken", maxExpression)
	}
	p := &parser{ctx: ctx, in: normalize(expression), given: []rune(expression)}
	p.space()
	if p.peek() == end {
		return nil, bad("the expression is empty")
	}
	v, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.peek() != end {
		return nil, p.unexpected("an operator or the end")
	}
	return v, nil
}

func bad(format string, args ...any) error {
	return &tools.Error{Code: tools.CodeInvalidArgument, Field: "expression", Message: fmt.Sprintf(format, args...)}
}

func tooLarge() error {
	return bad("result too large: a value would have more than %d digits", maxDigits)
}

// normalize gives plain characters for their full-width and typographic forms, one for one, so that positions stay.
func normalize(s string) []rune {
	in := []rune(s)
	for i, r := range in {
		switch {
		case r >= 0xFF01 && r <= 0xFF5E && strings.ContainsRune("0123456789+-*/%^().,", r-0xFEE0):
			in[i] = r - 0xFEE0
		case r == '−':
			in[i] = '-'
		case r == '∗':
			in[i] = '×' // not *, so that two of them are no power
		case r == '∕':
			in[i] = '÷'
		}
	}
	return in
}

// end is what peek gives behind the last character.
const end rune = -1

type parser struct {
	ctx   context.Context
	in    []rune
	given []rune // before normalize, for errors
	pos   int
	depth int
}

func (p *parser) peek() rune { return p.at(0) }

func (p *parser) at(ahead int) rune {
	if p.pos+ahead < len(p.in) {
		return p.in[p.pos+ahead]
	}
	return end
}

func (p *parser) space() {
	for p.pos < len(p.in) && unicode.IsSpace(p.in[p.pos]) {
		p.pos++
	}
}

// operator takes one of the operators, the longer ones first, with the space behind it; "" when none is there.
func (p *parser) operator(list ...string) string {
	for _, op := range list {
		rs := []rune(op)
		if p.peek() == rs[0] && (len(rs) == 1 || p.at(1) == rs[1]) {
			p.pos += len(rs)
			p.space()
			return op
		}
	}
	return ""
}

// unexpected names what stands here.
func (p *parser) unexpected(wanted string) error {
	r := p.peek()
	if r == end {
		return bad("the expression ends where %s is expected (position %d)", wanted, p.pos+1)
	}
	hint := ""
	switch {
	case r == ',':
		hint = "; a comma is taken only between groups of three digits, as in 1,000, and decimals are written with a point"
	case strings.ContainsRune("⁰¹²³⁴⁵⁶⁷⁸⁹", r):
		hint = "; write a power with **"
	case unicode.IsNumber(r) && r > unicode.MaxASCII:
		hint = "; only the digits 0 to 9 are taken"
	case unicode.IsLetter(r):
		hint = "; names, functions and words are not taken, only numbers and operators"
	case r == '_':
		hint = "; an underscore is taken only between digits"
	case r >= '0' && r <= '9' || r == '(':
		hint = "; nothing is multiplied without *, and numbers hold no space"
	}
	return bad("position %d: expected %s, found %s%s", p.pos+1, wanted, nameOf(p.given[p.pos]), hint)
}

// nameOf shows a character, with its code point when it is not ASCII.
func nameOf(r rune) string {
	if r <= unicode.MaxASCII {
		return strconv.QuoteRune(r)
	}
	return fmt.Sprintf("%s (%U)", strconv.QuoteRune(r), r)
}

// deeper counts a level that nests; the returned function leaves it.
func (p *parser) deeper() (func(), error) {
	if p.depth++; p.depth > maxDepth {
		return nil, bad("position %d: the expression is too deep: at most %d levels are taken", p.pos+1, maxDepth)
	}
	return func() { p.depth-- }, nil
}

func (p *parser) sum() (*big.Rat, error) {
	v, err := p.product()
	for err == nil {
		op := p.operator("+", "-")
		if op == "" {
			return v, nil
		}
		v, err = p.apply(op, v, p.product)
	}
	return nil, err
}

func (p *parser) product() (*big.Rat, error) {
	v, err := p.signed()
	for err == nil {
		op := ""
		if p.peek() != '*' || p.at(1) != '*' {
			op = p.operator("//", "*", "/", "%", "×", "÷")
		}
		if op == "" {
			return v, nil
		}
		v, err = p.apply(op, v, p.signed)
	}
	return nil, err
}

func (p *parser) signed() (*big.Rat, error) {
	op := p.operator("+", "-")
	if op == "" {
		return p.power()
	}
	leave, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer leave()
	v, err := p.signed()
	if err != nil {
		return nil, err
	}
	if op == "-" {
		v.Neg(v)
	}
	return v, nil
}

func (p *parser) power() (*big.Rat, error) {
	base, err := p.atom()
	if err != nil {
		return nil, err
	}
	at := p.pos
	if p.operator("**", "^") == "" {
		return base, nil
	}
	leave, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer leave()
	exp, err := p.signed()
	if err != nil {
		return nil, err
	}
	return power(base, exp, at+1)
}

func (p *parser) atom() (*big.Rat, error) {
	if p.peek() != '(' {
		return p.number()
	}
	leave, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer leave()
	p.pos++
	p.space()
	v, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.peek() != ')' {
		return nil, p.unexpected("an operator or ')'")
	}
	p.pos++
	p.space()
	return v, nil
}

// apply reads the right side of an operator and computes. Both sides are within maxDigits, so the work is bounded.
func (p *parser) apply(op string, left *big.Rat, next func() (*big.Rat, error)) (*big.Rat, error) {
	if err := p.ctx.Err(); err != nil {
		return nil, err
	}
	at := p.pos
	right, err := next()
	if err != nil {
		return nil, err
	}
	v := new(big.Rat)
	switch op {
	case "+":
		v.Add(left, right)
	case "-":
		v.Sub(left, right)
	case "*", "×":
		v.Mul(left, right)
	default:
		if right.Sign() == 0 {
			return nil, bad("position %d: division by zero", at+1)
		}
		v.Quo(left, right)
		switch op {
		case "//":
			v = floor(v)
		case "%":
			v.Sub(left, v.Mul(floor(v), right))
		}
	}
	return fits(v)
}

// floor is the greatest integer that is not above v. The denominator is positive, where Div rounds down.
func floor(v *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Div(v.Num(), v.Denom()))
}

func fits(v *big.Rat) (*big.Rat, error) {
	if v.Num().BitLen() > maxBits || v.Denom().BitLen() > maxBits {
		return nil, tooLarge()
	}
	return v, nil
}

// power computes base to a whole exponent. A base other than 0, 1 and -1 has a numerator or denominator of at least two, so
// that the size of the power is known before it is computed.
func power(base, exp *big.Rat, at int) (*big.Rat, error) {
	if !exp.IsInt() {
		return nil, bad("position %d: the exponent must be a whole number, it is %s", at, decimal(exp).Result)
	}
	e := exp.Num()
	one := big.NewInt(1)
	switch {
	case e.Sign() == 0:
		return new(big.Rat).SetInt(one), nil
	case base.Sign() == 0 && e.Sign() < 0:
		return nil, bad("position %d: division by zero (zero to a negative power)", at)
	case base.Sign() == 0:
		return new(big.Rat), nil
	case base.IsInt() && base.Num().CmpAbs(one) == 0:
		if base.Sign() < 0 && e.Bit(0) == 0 {
			return new(big.Rat).SetInt(one), nil
		}
		return base, nil
	}
	bits := int64(max(base.Num().BitLen(), base.Denom().BitLen()))
	if !e.IsInt64() || e.CmpAbs(big.NewInt(maxBits)) > 0 || (bits-1)*abs(e.Int64()) > maxBits {
		return nil, tooLarge()
	}
	n := new(big.Int).SetInt64(abs(e.Int64()))
	num, den := new(big.Int).Exp(base.Num(), n, nil), new(big.Int).Exp(base.Denom(), n, nil)
	if e.Sign() < 0 {
		num, den = den, num
	}
	return fits(new(big.Rat).SetFrac(num, den))
}

func abs(n int64) int64 { return max(n, -n) }

// number reads a decimal number: digits with commas between groups of three or underscores between digits, a fraction, an
// exponent.
func (p *parser) number() (*big.Rat, error) {
	if !digit(p.peek()) && (p.peek() != '.' || !digit(p.at(1))) {
		return nil, p.unexpected("a number or '('")
	}
	var b strings.Builder
	p.whole(&b)
	if p.peek() == '.' {
		b.WriteByte('.')
		p.pos++
		p.digits(&b)
		b.WriteByte('0') // 5. is 5.0
	}
	if r := p.peek(); r == 'e' || r == 'E' {
		if err := p.exponent(&b); err != nil {
			return nil, err
		}
	}
	// What follows directly must not look like a part of the number.
	if r := p.peek(); r == ',' || r == '.' || r == '_' || r > unicode.MaxASCII && unicode.IsNumber(r) || unicode.IsLetter(r) {
		return nil, p.unexpected("an operator or the end of the number")
	}
	p.space()
	v, ok := new(big.Rat).SetString(b.String())
	if !ok {
		return nil, bad("position %d: a number that cannot be read", p.pos+1)
	}
	return fits(v)
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

// digits takes digits with single underscores between them and says how many.
func (p *parser) digits(b *strings.Builder) int {
	n := 0
	for {
		switch r := p.peek(); {
		case digit(r):
			b.WriteRune(r)
			n++
			p.pos++
		case r == '_' && n > 0 && digit(p.at(1)):
			p.pos++
		default:
			return n
		}
	}
}

// whole takes the part in front of the point. Commas are left out when they can only be thousands separators: one to three
// digits that do not begin with 0, then groups of exactly three. Any other comma stays and is an error to the caller.
func (p *parser) whole(b *strings.Builder) {
	start := p.pos
	if n := p.digits(b); p.peek() != ',' || n > 3 || p.pos-start != n || p.in[start] == '0' {
		return
	}
	i := p.pos
	for i < len(p.in) && p.in[i] == ',' {
		for j := 1; j <= 3; j++ {
			if i+j >= len(p.in) || !digit(p.in[i+j]) {
				return
			}
		}
		i += 4
	}
	if i < len(p.in) && (digit(p.in[i]) || p.in[i] == '_') {
		return
	}
	for _, r := range p.in[p.pos:i] {
		if r != ',' {
			b.WriteRune(r)
		}
	}
	p.pos = i
}

// exponent takes e, a sign and digits. Its size is checked here, before it makes a number.
func (p *parser) exponent(b *strings.Builder) error {
	ahead := 1
	if s := p.at(1); s == '+' || s == '-' {
		ahead = 2
	}
	if !digit(p.at(ahead)) {
		return nil // the letter is an error to the caller
	}
	var text strings.Builder
	if p.at(1) == '-' {
		text.WriteByte('-')
	}
	p.pos += ahead
	p.digits(&text)
	n, err := strconv.Atoi(text.String())
	if err != nil || n > maxDigits || n < -maxDigits {
		return tooLarge()
	}
	fmt.Fprintf(b, "e%d", n)
	return nil
}
