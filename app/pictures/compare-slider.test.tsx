import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { CompareSlider } from "./compare-slider.tsx";

vi.mock("next-intl", () => ({ useTranslations: () => (key: string) => key }));

test("two fingers enlarge a comparison, one moves its line or the page", () => {
  const html = renderToStaticMarkup(<CompareSlider beforeUrl="/a" afterUrl="/b" afterAlt="b" />);
  expect(html.match(/touch-[a-z-]+/g)).toEqual(["touch-pan-y", "touch-pinch-zoom"]);
});
