-- One spelling for the search of memories: composed and decomposed letters, full and half width, accents of Latin and Greek,
-- points of Hebrew and Arabic, and forms of letters that mean the same. searchForm of server/images/search.ts does the like
-- for pictures, which are searched by any part of a word; here words are indexed.
create function recall_form(p_text text) returns text language sql immutable parallel safe as $$
  select normalize(regexp_replace(regexp_replace(regexp_replace(
    replace(replace(lower(normalize(p_text, NFKD)), 'ß', 'ss'), 'ς', 'σ'),
    '([a-zα-ω])[\u0300-\u036F]+', '\1', 'g'),
    '[\u0591-\u05C7\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06ED]', '', 'g'),
    '[\u00AD\u200B-\u200F\u2060\uFE0E\uFE0F\uFEFF]', '', 'g'), NFC)
$$;
--> statement-breakpoint
-- What the words of PostgreSQL's parser do not find. Scripts without spaces (Han, Kana, Thai, Lao, Khmer, Burmese) and Korean, whose words
-- change at their ends: pairs of neighbouring letters, and single ones of Han, which are words. Words of other scripts as they are, and without the article or the
-- prepositions that Arabic and Hebrew write as one with a word.
create function recall_parts(p_form text) returns setof text language sql immutable parallel safe as $$
  select case when length(run) = 1 then run else substr(run, place, 2) end
  from regexp_matches(p_form, '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF]+', 'g') as found(runs)
  cross join lateral unnest(runs) as run
  cross join lateral generate_series(1, greatest(1, length(run) - 1)) as place
  union
  select letter[1] from regexp_matches(p_form, '[\u3400-\u4DBF\u4E00-\u9FFF]', 'g') as found(letter)
  union
  select form from regexp_matches(p_form, '[\u0370-\u03FF\u0530-\u058F\u05D0-\u05F2\u0620-\u06FF\u0750-\u077F\u0900-\u0DFF\u10A0-\u10FF\u1200-\u137F]+', 'g') as found(words)
  cross join lateral unnest(words) as word
  cross join lateral (values (word), (regexp_replace(word, '^([وفبكل]?ال|لل)(?=..)', '')),
    (regexp_replace(word, '^[והבלמשכ](?=...)', ''))) as forms(form)
$$;
--> statement-breakpoint
-- recall_terms of 0017, in every script. Rows with letters of ASCII or Cyrillic alone keep the terms that they have.
create or replace function recall_terms(p_owner text, p_text text, p_tags text[] default '{}') returns text[]
language sql immutable parallel safe as $$
  select coalesce(array_agg(left(encode(sha256(p_owner::bytea), 'base64'), 6) || ' ' || term), '{}')
  from (
    select lexeme as term from recall_form(p_text || ' ' || array_to_string(p_tags, ' ')) as form, unnest(to_tsvector('pg_catalog.russian', form))
    union
    select part from recall_form(p_text || ' ' || array_to_string(p_tags, ' ')) as form, recall_parts(form) as part
  ) terms
$$;
--> statement-breakpoint
update assistant_messages set text = text where text ~ '[^\u0001-\u007F\u0400-\u04FF\u2010-\u2027]';
--> statement-breakpoint
update memories set summary = summary where summary || array_to_string(tags, ' ') ~ '[^\u0001-\u007F\u0400-\u04FF\u2010-\u2027]';
