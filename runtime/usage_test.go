package runtime

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// What is written by hand is what package json would write, for every field that there is: a field that is added and not written
// makes this fail.
func TestEncodeUsage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u RunUsage
		fillWith(t, reflect.ValueOf(&u).Elem())
		want, wantErr := json.Marshal(u)
		got, err := EncodeUsage(u)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Fatalf("got  %s, %v\nwant %s, %v", got, err, want, wantErr)
		}
	})
}

// fillWith gives every field of v a drawn value, the zero one often.
func fillWith(t *rapid.T, v reflect.Value) {
	if v.Kind() != reflect.Struct && rapid.IntRange(0, 2).Draw(t, "zero") == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillWith(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillWith(t, v.Elem())
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.StringMatching("[0-9a-z_]{0,16}"), rapid.String()).Draw(t, "string"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN())).Draw(t, "float"))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "length"), 3))
		for i := range v.Len() {
			fillWith(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillWith(t, key)
			fillWith(t, value)
			v.SetMapIndex(key, value)
		}
	default:
		t.Fatalf("no values for a %s", v.Type())
	}
}
