package words

import "strings"

// Auto lets the locale choose the language.
const Auto = "auto"

// Choose gives the language: that of the setting (a language tag such as zh, zh-Hans, en_US), else that of the locale. Every
// kind of Chinese gets Simplified Chinese: a reader of Traditional Chinese reads it sooner than English, and the setting en
// undoes it. A locale that names another encoding than UTF-8, and the Linux console, which has no such characters, stay
// English unless the setting says Chinese. Other languages, and what is no language, are English.
func Choose(setting string, env func(string) string) Lang {
	if l, ok := Tag(setting); ok {
		return l
	}
	if env("TERM") == "linux" || !inUnicode(first(env, "LC_ALL", "LC_CTYPE", "LANG")) {
		return English
	}
	l, _ := Tag(first(env, "LC_ALL", "LC_MESSAGES", "LANG"))
	return l
}

// Tag reads a language tag or a locale by its first part. ok is false for what is neither English nor Chinese.
func Tag(tag string) (l Lang, ok bool) {
	part, _, _ := strings.Cut(strings.NewReplacer("-", "_", ".", "_", "@", "_").Replace(strings.ToLower(strings.TrimSpace(tag))), "_")
	switch part {
	case "zh", "chinese":
		return Chinese, true
	case "en", "english":
		return English, true
	}
	return English, false
}

// first is the first of the variables that is set.
func first(env func(string) string, names ...string) string {
	for _, name := range names {
		if v := env(name); v != "" {
			return v
		}
	}
	return ""
}

// inUnicode says that a locale is not one of another encoding than UTF-8; one without a name of an encoding counts.
func inUnicode(locale string) bool {
	_, codeset, named := strings.Cut(locale, ".")
	codeset, _, _ = strings.Cut(strings.ToLower(codeset), "@")
	return !named || codeset == "utf-8" || codeset == "utf8"
}
