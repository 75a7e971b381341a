import { expect, test, vi } from "vitest";
import { fromRelative, listenForZoom, toRelative, zoomView } from "../ui/zoom.ts";
import { fitView, toPicture, zoomRange } from "./stage-input.ts";

const stage = { width: 800, height: 600 };

test("fitting shows the whole picture in the middle", () => {
  const view = fitView(stage, { width: 4000, height: 1000 });
  expect(view.scale).toBeCloseTo(752 / 4000);
  expect(view.x).toBeCloseTo(24);
  expect(view.y + (1000 * view.scale) / 2).toBeCloseTo(300);
});

test("what lies under the pointer stays there while zooming", () => {
  const view = fitView(stage, { width: 1000, height: 1000 });
  const at = { x: 500, y: 120 };
  const before = toPicture(view, at);
  const after = toPicture(zoomView(view, at, 3.7, zoomRange), at);
  expect(after.x).toBeCloseTo(before.x);
  expect(after.y).toBeCloseTo(before.y);
});

test("a view that was left shows the same part of the picture on another stage", () => {
  const picture = { width: 1000, height: 1000 };
  const framedOf = (size: typeof stage) => ({ room: size, picture, whole: fitView(size, picture) });
  const view = zoomView(fitView(stage, picture), { x: 500, y: 120 }, 3.7, zoomRange);
  const left = toRelative(view, framedOf(stage));
  expect(fromRelative(left, framedOf(stage), zoomRange).x).toBeCloseTo(view.x);
  const phone = { width: 390, height: 500 };
  const there = fromRelative(left, framedOf(phone), zoomRange);
  const middle = toPicture(there, { x: 195, y: 250 });
  const before = toPicture(view, { x: 400, y: 300 });
  expect([middle.x, middle.y].map(Math.round)).toEqual([before.x, before.y].map(Math.round));
});

test("zoom ends at sixteen times", () => {
  expect(zoomView({ scale: 10, x: 0, y: 0 }, { x: 0, y: 0 }, 100, zoomRange).scale).toBe(16);
});

test.each([
  ["the trackpad of a Mac in Safari", 0, [1.5, 2]],
  ["fingers on glass, which are pointers as well", 5, []],
])("%s zooms by what it has moved since", (_what, maxTouchPoints, factors) => {
  vi.stubGlobal("navigator", { maxTouchPoints });
  const stage = new EventTarget();
  const zoomed: number[] = [];
  const stop = listenForZoom(stage, (factor) => zoomed.push(factor));
  const gesture = (type: string, scale: number) => {
    const event = Object.assign(new Event(type, { cancelable: true }), { scale, clientX: 5, clientY: 5 });
    stage.dispatchEvent(event);
    expect(event.defaultPrevented).toBe(maxTouchPoints === 0);
  };
  gesture("gesturestart", 1);
  gesture("gesturechange", 1.5);
  gesture("gesturechange", 3);
  stop();
  stage.dispatchEvent(new Event("gesturechange"));
  expect(zoomed).toEqual(factors);
});
