/* Called by the generated programs with every field they walk over. libcob hands over the cob_field that cobc made, so what is said and
 * done here is what the compiler knows of the field: where it stands, how long it is, its type, and what MOVE does with it.
 *
 * Standard input, one line a request:
 *   SET n          a round begins: n bytes of the record are zeroed, then one line a field follows:
 *                  N <digits with sign> <scale> | T <hex> | F <bits, hex> | -
 *   GET <hex>      a round begins: the record is loaded, then every field is read
 *   NEW            a round begins: the record is left as the program's storage began, fields are only described
 *   END            the program ends
 * Standard output: one line a field, then "R <hex>" with the record as long as LENGTH OF says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libcob.h>

enum { WIDE = 38, LINE = 1 << 18 };
static char line[LINE];
static unsigned char *base;
static enum { END, SET, GET, NEW } mode;

static cob_field *param(int n) { return cob_get_param_field(n, "oracle"); }

static void die(const char *what)
{
	fprintf(stderr, "oracle helper: %s at: %.60s\n", what, line);
	exit(3);
}

static void read_line(void)
{
	if (!fgets(line, LINE, stdin)) die("no more requests");
	line[strcspn(line, "\n")] = 0;
}

static void put_hex(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) printf("%02x", p[i]);
}

static size_t unhex(const char *h, unsigned char *to)
{
	size_t n = 0;
	for (; h[0] && h[1]; h += 2) {
		unsigned x;
		if (sscanf(h, "%2x", &x) != 1) die("bad hex");
		to[n++] = (unsigned char)x;
	}
	return n;
}

int q_next(void)
{
	cob_field *f = param(1);
	int answer = 1;
	read_line();
	if (!strncmp(line, "SET ", 4)) mode = SET;
	else if (!strncmp(line, "GET ", 4)) mode = GET;
	else if (!strcmp(line, "NEW")) mode = NEW;
	else if (!strcmp(line, "END")) { mode = END; answer = 0; }
	else die("unknown request");
	memcpy(f->data, &answer, sizeof answer);
	return 0;
}

int q_begin(void)
{
	base = param(1)->data;
	if (mode == SET) memset(base, 0, (size_t)atol(line + 4));
	if (mode == GET) unhex(line + 4, base);
	return 0;
}

static unsigned char wide[WIDE + 1];
static cob_field_attr wide_attr = { COB_TYPE_NUMERIC_DISPLAY, WIDE, 0,
	COB_FLAG_HAVE_SIGN | COB_FLAG_SIGN_SEPARATE | COB_FLAG_SIGN_LEADING, NULL };
static cob_field wide_field = { WIDE + 1, wide, &wide_attr };

static void set(cob_field *f)
{
	static unsigned char text[LINE / 2];
	char digits[64];
	int scale;
	switch (line[0]) {
	case '-':
		return;
	case 'N':
		if (sscanf(line + 1, " %63s %d", digits, &scale) != 2 || strlen(digits) > WIDE + 1) die("bad number");
		memset(wide, '0', sizeof wide);
		wide[0] = (unsigned char)digits[0];
		memcpy(wide + sizeof wide - (strlen(digits) - 1), digits + 1, strlen(digits) - 1);
		wide_attr.scale = (short)scale;
		cob_move(&wide_field, f);
		return;
	case 'T': {
		cob_field_attr attr = { COB_TYPE_ALPHANUMERIC, 0, 0, 0, NULL };
		cob_field from = { unhex(line + 2, text), text, &attr };
		cob_move(&from, f);
		return;
	}
	case 'F': {
		unsigned long long bits = strtoull(line + 2, NULL, 16);
		double d;
		float s;
		memcpy(&d, &bits, 8);
		s = (float)d;
		if (COB_FIELD_TYPE(f) == COB_TYPE_NUMERIC_FLOAT) memcpy(f->data, &s, 4);
		else memcpy(f->data, &d, 8);
		return;
	}
	default:
		die("unknown value");
	}
}

static void get(cob_field *field)
{
	/* MOVE takes the sign out of a zoned source and puts it back in its own form, which other views of the bytes would see. */
	static unsigned char copy[LINE / 2];
	cob_field own = { field->size, copy, field->attr };
	cob_field *f = &own;
	float s;
	double d;
	unsigned long long bits;
	memcpy(copy, field->data, field->size);
	switch (COB_FIELD_TYPE(f)) {
	case COB_TYPE_NUMERIC_DISPLAY:
	case COB_TYPE_NUMERIC_BINARY:
	case COB_TYPE_NUMERIC_PACKED:
	case COB_TYPE_NUMERIC_COMP5:
	case COB_TYPE_NUMERIC_EDITED:
		wide_attr.scale = f->attr->scale;
		cob_move(f, &wide_field);
		/* What MOVE makes of bytes that are no number may hold a line feed. */
		for (size_t i = 0; i < sizeof wide; i++) if (wide[i] < ' ' || wide[i] > '~') wide[i] = '?';
		printf(" N %.*s %d", (int)sizeof wide, wide, f->attr->scale);
		break;
	case COB_TYPE_NUMERIC_FLOAT:
		memcpy(&s, f->data, 4);
		d = s;
		memcpy(&bits, &d, 8);
		printf(" F %016llx", bits);
		break;
	case COB_TYPE_NUMERIC_DOUBLE:
		memcpy(&bits, f->data, 8);
		printf(" F %016llx", bits);
		break;
	default:
		printf(" T ");
		put_hex(f->data, f->size);
	}
}

int q_field(void)
{
	cob_field *f = param(1);
	const cob_field_attr *a = f->attr;
	printf("%ld %zu %x %d %d %x", (long)(f->data - base), f->size, a->type, a->digits, a->scale, a->flags);
	if (mode == SET) {
		read_line();
		set(f);
	}
	if (mode == GET) get(f);
	putchar('\n');
	return 0;
}

int q_end(void)
{
	cob_field *f = param(1);
	printf("R ");
	put_hex(base, f->size);
	putchar('\n');
	fflush(stdout);
	return 0;
}
