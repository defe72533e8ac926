/* schema_test.c - JSON Schema as far as it is understood (src/sandbox/session/schema.h). */
#include "sandbox/session/schema.h"
#include "test.h"

#include <string.h>

static const char *why(const char *schema, const char *json) {
  static char text[600];
  OWNED(sb_schema_free) sb_schema *s = NULL;
  cay_error err;
  if (sb_schema_new(schema, &s, &err) != CAY_OK) {
    snprintf(text, sizeof text, "SCHEMA %s", err.message);
    return text;
  }
  return sb_schema_fits(s, (cay_slice){ json, strlen(json) }, text, sizeof text) == SB_FIT ? "fits" : text;
}

static bool accepts(const char *schema, const char *json) { return strcmp(why(schema, json), "fits") == 0; }

/* The rule for the member x of the arguments. */
static bool x_accepts(const char *rule, const char *value) {
  char schema[400], json[400];
  snprintf(schema, sizeof schema, "{\"properties\":{\"x\":%s}}", rule);
  snprintf(json, sizeof json, "{\"x\":%s}", value);
  return accepts(schema, json);
}

TEST(each_keyword_accepts_and_refuses) {
  static const struct {
    const char *rule, *good, *bad;
  } rows[] = {
    { "{\"type\":\"string\"}", "\"a\"", "1" },
    { "{\"type\":\"integer\"}", "7", "7.5" },
    { "{\"type\":\"integer\"}", "7.0", "\"7\"" },
    { "{\"type\":\"number\"}", "7.5", "null" },
    { "{\"type\":\"null\"}", "null", "0" },
    { "{\"type\":\"boolean\"}", "true", "1" },
    { "{\"type\":\"array\"}", "[]", "{}" },
    { "{\"type\":\"object\"}", "{}", "[]" },
    { "{\"type\":[\"string\",\"null\"]}", "null", "1" },
    { "{\"enum\":[1,\"a\",{\"b\":2}]}", "{\"b\":2}", "\"b\"" },
    { "{\"const\":1}", "1.0", "2" },
    { "{\"minimum\":1}", "1", "0.5" },
    { "{\"maximum\":1}", "1", "1.5" },
    { "{\"exclusiveMinimum\":1}", "1.1", "1" },
    { "{\"exclusiveMaximum\":1}", "0", "1" },
    { "{\"multipleOf\":0.1}", "0.3", "0.35" },
    { "{\"minLength\":2}", "\"é€\"", "\"é\"" },
    { "{\"maxLength\":2}", "\"é€\"", "\"abc\"" },
    { "{\"pattern\":\"^\\\\d+$\"}", "\"123\"", "\"12a\"" },
    { "{\"minItems\":1}", "[0]", "[]" },
    { "{\"maxItems\":1}", "[0]", "[0,0]" },
    { "{\"uniqueItems\":true}", "[1,2]", "[1,2,1.0]" },
    { "{\"items\":{\"type\":\"integer\"}}", "[1,2]", "[1,\"2\"]" },
    { "{\"prefixItems\":[{\"type\":\"integer\"}],\"items\":false}", "[1]", "[1,2]" },
    { "{\"required\":[\"a\"]}", "{\"a\":null}", "{}" },
    { "{\"minProperties\":1}", "{\"a\":1}", "{}" },
    { "{\"maxProperties\":1}", "{\"a\":1}", "{\"a\":1,\"b\":1}" },
    { "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1}", "{\"b\":1}" },
    { "{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"b\":1}", "{\"b\":\"1\"}" },
    { "{\"patternProperties\":{\"^n_\":{\"type\":\"integer\"}},\"additionalProperties\":false}",
      "{\"n_a\":1}", "{\"m\":1}" },
    { "{\"propertyNames\":{\"maxLength\":1}}", "{\"a\":1}", "{\"ab\":1}" },
    { "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "5", "4" },
    { "{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "4", "5" },
    { "{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "5", "4" },
    { "{\"not\":{\"type\":\"integer\"}}", "\"a\"", "1" },
    { "true", "1", NULL },
    { "{\"title\":\"t\",\"format\":\"uri\",\"default\":1}", "1", NULL },
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    EXPECT(x_accepts(rows[i].rule, rows[i].good));
    EXPECT(rows[i].bad == NULL || !x_accepts(rows[i].rule, rows[i].bad));
  }
}

TEST(references_within_the_schema_are_followed) {
  const char *tree =
      "{\"$defs\":{\"node\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/node\"}},"
      "\"additionalProperties\":false}},\"properties\":{\"list\":{\"$ref\":\"#/$defs/node\"}}}";
  EXPECT(accepts(tree, "{\"list\":{\"next\":{\"next\":{}}}}"));
  EXPECT(!accepts(tree, "{\"list\":{\"next\":{\"last\":{}}}}"));
}

TEST(a_reference_to_itself_ends) {
  EXPECT(!accepts("{\"$ref\":\"#\"}", "{}"));
  EXPECT(!accepts("{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "{}"));
}

TEST(the_reason_says_where) {
  EXPECT(strcmp(why("{\"properties\":{\"a\":{\"items\":{\"type\":\"string\"}}}}", "{\"a\":[\"x\",3]}"),
                "/a/1: is uint and should be string") == 0);
  EXPECT(strcmp(why("{\"required\":[\"url\"]}", "{}"), "arguments: url is missing") == 0);
}

TEST(arguments_must_be_an_object) {
  EXPECT(!accepts("true", "[]") && !accepts("true", "") && !accepts("true", "{") && !accepts("true", "nul"));
  EXPECT(accepts("true", "{}"));
}

TEST(a_schema_that_is_not_understood_is_refused_with_its_place) {
  static const struct {
    const char *schema, *where;
  } rows[] = {
    { "{\"properties\":{\"a\":{\"dependentRequired\":{}}}}", "/properties/a/dependentRequired" },
    { "{\"type\":\"text\"}", "/type" },
    { "{\"properties\":[]}", "/properties" },
    { "{\"$ref\":\"http://example.com/s\"}", "/$ref" },
    { "{\"$ref\":\"#/$defs/none\"}", "/$ref" },
    { "{\"pattern\":\"(\"}", "/pattern" },
    { "{\"anyOf\":[]}", "/anyOf" },
    { "{\"minLength\":-1}", "/minLength" },
    { "{\"required\":[1]}", "/required" },
    { "7", "/" },
    { "{", "not JSON" },
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    sb_schema *s = NULL;
    cay_error err;
    EXPECT_EQ(sb_schema_new(rows[i].schema, &s, &err), CAY_INVALID);
    EXPECT(strncmp(err.message, rows[i].where, strlen(rows[i].where)) == 0);
  }
}

TEST(a_pattern_that_explodes_is_bounded) {
  char value[80];
  snprintf(value, sizeof value, "\"%s!\"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  EXPECT(!x_accepts("{\"pattern\":\"^(a+)+$\"}", value));
}

TEST(a_schema_is_read_whole_or_not_at_all) {
  AT_EVERY_FAULT {
    sb_schema *s = NULL;
    cay_status status =
        sb_schema_new("{\"properties\":{\"a\":{\"pattern\":\"x\"}},\"required\":[\"a\"]}", &s, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
    sb_schema_free(s);
  }
}
