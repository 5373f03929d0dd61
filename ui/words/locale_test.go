package words

import "testing"

// The setting wins over the locale; every Chinese locale that can be shown is Simplified Chinese, all else is English.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name, setting string
		env           map[string]string
		want          Lang
	}{
		{"nothing set", "auto", nil, English},
		{"empty", "", map[string]string{"LANG": ""}, English},
		{"C", "auto", map[string]string{"LANG": "C"}, English},
		{"C in UTF-8", "auto", map[string]string{"LANG": "C.UTF-8"}, English},
		{"POSIX", "auto", map[string]string{"LANG": "POSIX"}, English},
		{"American", "auto", map[string]string{"LANG": "en_US.UTF-8"}, English},
		{"German", "auto", map[string]string{"LANG": "de_DE.UTF-8"}, English},
		{"Zhuang is not Chinese", "auto", map[string]string{"LANG": "za_CN.UTF-8"}, English},
		{"mainland", "auto", map[string]string{"LANG": "zh_CN.UTF-8"}, Chinese},
		{"mainland, written otherwise", "auto", map[string]string{"LANG": "zh_CN.utf8"}, Chinese},
		{"Taiwan", "auto", map[string]string{"LANG": "zh_TW.UTF-8"}, Chinese},
		{"Hong Kong", "auto", map[string]string{"LANG": "zh_HK.UTF-8"}, Chinese},
		{"with a modifier", "auto", map[string]string{"LANG": "zh_CN.UTF-8@stroke"}, Chinese},
		{"Singapore, no encoding", "auto", map[string]string{"LANG": "zh_SG"}, Chinese},
		{"a tag", "auto", map[string]string{"LANG": "zh-Hans"}, Chinese},
		{"bare", "auto", map[string]string{"LANG": "zh"}, Chinese},
		{"another encoding", "auto", map[string]string{"LANG": "zh_CN.GB18030"}, English},
		{"another encoding of characters", "auto", map[string]string{"LANG": "zh_CN.UTF-8", "LC_CTYPE": "zh_CN.GBK"}, English},
		{"the Linux console", "auto", map[string]string{"LANG": "zh_CN.UTF-8", "TERM": "linux"}, English},
		{"no locale", "auto", map[string]string{"LANG": "nonsense"}, English},
		{"dots", "auto", map[string]string{"LANG": "..."}, English},
		{"LC_ALL over all", "auto", map[string]string{"LC_ALL": "C", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "zh_CN.UTF-8"}, English},
		{"LC_ALL alone", "auto", map[string]string{"LC_ALL": "zh_CN.UTF-8", "LANG": "C"}, Chinese},
		{"LC_MESSAGES over LANG", "auto", map[string]string{"LC_MESSAGES": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, English},
		{"messages in Chinese, the rest not", "auto", map[string]string{"LC_MESSAGES": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, Chinese},
		{"an empty LC_ALL is none", "auto", map[string]string{"LC_ALL": "", "LANG": "zh_CN.UTF-8"}, Chinese},
		{"set to Chinese", "zh", map[string]string{"LANG": "C", "TERM": "linux"}, Chinese},
		{"set to Simplified Chinese", "zh-Hans", nil, Chinese},
		{"set to Traditional Chinese", "zh-TW", nil, Chinese},
		{"set to English", "en", map[string]string{"LANG": "zh_CN.UTF-8"}, English},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Choose(c.setting, func(name string) string { return c.env[name] }); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
