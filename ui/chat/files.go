package chat

import (
	"vitrine/llm/attach"
	"vitrine/ui/theme"
	texts "vitrine/ui/words"
)

// FileFact says what of a file is in a message, or why it is not: ok is false then.
func FileFact(l texts.Lang, f attach.File) (role theme.Role, fact string, ok bool) {
	switch {
	case f.Refused == attach.TooLarge:
		return theme.Warn, l.T("not attached: too large, %s", theme.Bytes(f.Bytes)), false
	case f.Refused != "":
		return theme.Warn, l.T("not attached: %s", why(l, f.Refused)), false
	case f.Cut():
		return theme.Warn, l.T("the first %s of %s", theme.Bytes(int64(len(f.Text))), theme.Bytes(f.Bytes)), true
	}
	return theme.Faint, theme.Bytes(f.Bytes), true
}

func why(l texts.Lang, w attach.Why) string {
	switch w {
	case attach.Binary:
		return l.T("it is no text (UTF-8)")
	case attach.Gone:
		return l.T("it is not there")
	case attach.Folder:
		return l.T("it is a folder")
	case attach.NoFile:
		return l.T("it is no ordinary file")
	case attach.Outside:
		return l.T("it is outside of the folder")
	case attach.NoRoom:
		return l.T("the message is full")
	}
	return l.T("it may not be read")
}
