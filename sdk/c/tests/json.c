/* Walking, pointers and strings of JSON texts, good and bad ones. */
#include "tests.h"

static const char *find(const char *json, const char *pointer) {
    wharf_str found = wharf__find(wharf_s(json), pointer);
    return found.ptr ? wharf__copy(found.ptr, found.len).ptr : NULL;
}

static void pointers(void) {
    const char *json = " { \"a\" : [ 1 , {\"b/c\":\"x\\\"]}\"}, [] ] , \"\" : 0, \"~\":true, \"\\u00e4\":null, \"a\":2 } ";
    test_same(find(json, "/a/0"), "1");
    test_same(find(json, "/a/1/b~1c"), "\"x\\\"]}\"");
    test_same(find(json, "/a/2"), "[]");
    test_same(find(json, "/"), "0");
    test_same(find(json, "/~0"), "true");
    test_same(find(json, "/\xc3\xa4"), "null");
    test_same(find("17", ""), "17");
    const char *const nothing[] = {"/a/3", "/a/00", "/a/-", "/a/x", "/b", "a", "/a/0/1", "/a/4294967296", "/a/"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        test_same(find(json, nothing[i]), NULL);
    }
}

static void deep_and_broken_texts(void) {
    enum { DEEP = 100000 };
    static char deep[2 * DEEP + 2];
    memset(deep, '[', DEEP);
    deep[DEEP] = '1';
    memset(deep + DEEP + 1, ']', DEEP);
    test_check(wharf__find(wharf_s(deep), "").len == 2 * DEEP + 1);
    test_check(wharf__find(wharf_s(deep), "/0/0/0").len == 2 * DEEP - 5);
    const char *const broken[] = {"", "{", "[", "{\"a\"", "{\"a\":", "{\"a", "{a:1}", "{\"a\"1}", "\"\\", ",", "[,]", "}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        test_same(find(broken[i], "/a"), NULL);
        for (wharf_iter it = wharf_each(wharf_s(broken[i])); wharf_next(&it);) {
            test_check(it.end - it.at >= 0);
        }
    }
}

static void members_and_items(void) {
    wharf_iter i = wharf_each(wharf_s("{\"a\\n\":{\"x\":[1,2]},\"b\":\"\"}"));
    test_check(wharf_next(&i));
    test_same(i.name.ptr, "a\n");
    test_same(i.value.ptr, "{\"x\":[1,2]}");
    test_check(wharf_next(&i));
    test_same(i.name.ptr, "b");
    test_same(i.value.ptr, "\"\"");
    test_check(!wharf_next(&i) && !wharf_next(&i));
    i = wharf_each(wharf_s("[[],\"]\"]"));
    test_check(wharf_next(&i) && !wharf_present(i.name));
    test_check(wharf_next(&i));
    test_same(i.value.ptr, "\"]\"");
    test_check(!wharf_next(&i));
    const char *const none[] = {"{}", "[]", " [ ] ", "1", "\"[1]\"", "null"};
    for (size_t n = 0; n < sizeof none / sizeof *none; n++) {
        i = wharf_each(wharf_s(none[n]));
        test_check(!wharf_next(&i));
    }
    i = wharf_each(wharf__absent);
    test_check(!wharf_next(&i));
}

static const char *unescape(const char *inner) {
    wharf_str text;
    return wharf__unescape(wharf_s(inner), &text) ? text.ptr : NULL;
}

static void strings(void) {
    test_same(unescape("a\\\"\\\\\\/\\b\\f\\n\\r\\t"), "a\"\\/\b\f\n\r\t");
    test_same(unescape("\\u0041\\u00e4\\u20AC\\ud83d\\ude00"), "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    test_same(unescape("\\ud83dx\\ude00\\ud83d\\u0041"), "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd" "A");
    const char *const broken[] = {"\\", "\\x", "\\u12", "\\u12g4"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        test_same(unescape(broken[i]), NULL);
    }
    wharf_str nul;
    test_check(wharf__unescape(wharf_s("a\\u0000b"), &nul) && nul.len == 3 && nul.ptr[1] == '\0');
}

static void utf8(void) {
    const char *const good[] = {"", "a", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        test_check(wharf__utf8(wharf_s(good[i])).ptr == good[i]);
    }
    const char *const bad[][2] = {
        {"a\xffz", "a?z"}, {"\xc3", "?"}, {"\xc0\x80", "??"}, {"\xed\xa0\x80", "???"}, {"\xe2\x82x", "??x"},
        {"\xf4\x90\x80\x80", "????"}, {"\xe0\x80\x80", "???"}, {"\xf0\x80\x80\x80", "????"}, {"\x80", "?"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_same(wharf__utf8(wharf_s(bad[i][0])).ptr, bad[i][1]);
    }
}

void json_tests(void) {
    test_begin(NULL);
    utf8();
    pointers();
    deep_and_broken_texts();
    members_and_items();
    strings();
}
