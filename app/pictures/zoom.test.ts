import { createElement, type PointerEvent } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { panView, zoomView } from "../ui/zoom.ts";
import {
  boundView,
  choose,
  closerScale,
  movedView,
  swipeOf,
  takesArrow,
  useZoomPointers,
  wholeView,
  type Zoom,
  zoomOfKey,
} from "./zoom.ts";

const room = { width: 800, height: 600 };
const large = { widthPx: 4_000, heightPx: 2_000 };
const small = { widthPx: 100, heightPx: 200 };
const range = { min: 0.1, max: 4 };

test("a picture is whole in the middle of its room, a small one a little larger than it is", () => {
  expect(wholeView(room, large)).toEqual({ scale: 0.2, x: 0, y: 100 });
  expect(wholeView(room, small)).toEqual({ scale: 1.5, x: 325, y: 150 });
});

test("a double click shows each px of a large picture, and more of one that is already shown so", () => {
  expect(closerScale(wholeView(room, large), 1)).toBe(1);
  // Of a screen with two px for one of CSS.
  expect(closerScale(wholeView(room, large), 0.5)).toBe(0.5);
  expect(closerScale(wholeView(room, small), 1)).toBe(3);
  const nearly = { widthPx: 840, heightPx: 630 };
  expect(closerScale(wholeView(room, nearly), 1)).toBeCloseTo((800 / 840) * 2);
});

test.each([
  ["beyond its left and upper edges", [5_000, 5_000], [0, 0]],
  ["beyond its right and lower edges", [-9_000, -9_000], [800 - 4_000, 600 - 2_000]],
  ["a little", [-100, -50], [-100, -50]],
] as const)("a part of a picture that is moved %s fills the room", (_where, [dx, dy], [x, y]) => {
  const moved = panView({ scale: 1, x: 0, y: 0 }, dx, dy);
  expect(boundView(moved, room, large)).toEqual({ scale: 1, x, y });
});

test("what is smaller than its room in one direction stays in the middle of it", () => {
  const close = zoomView(wholeView(room, large), { x: 0, y: 0 }, 1.25, range);
  expect(boundView(close, room, large)).toEqual({ scale: 0.25, x: 0, y: 50 });
  const tall = boundView({ scale: 4, x: 999, y: 7 }, room, small);
  expect(tall).toEqual({ scale: 4, x: 200, y: 0 });
});

test("the original of a picture is read once it was close, not when it is made smaller than whole", () => {
  const close = { scale: 1, x: 0, y: 0 };
  expect(choose(null, "a", null)).toBeNull();
  expect(choose({ id: "b", view: close }, "a", null)).toBeNull();
  expect(choose(null, "a", close)).toEqual({ id: "a", view: close });
  expect(choose({ id: "a", view: close }, "a", null)).toEqual({ id: "a", view: null });
});

test("a held key zooms on, and one for the whole picture does so once", () => {
  const zoom = { zoom: vi.fn<Zoom["zoom"]>(), toggle: vi.fn<Zoom["toggle"]>() };
  const press = (key: string, repeat: boolean) => {
    const held = { key, repeat, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
    // Safe cast: keys call these two alone.
    zoomOfKey(held)?.(zoom as unknown as Zoom);
  };
  for (const key of ["+", "-", "z"]) for (const repeat of [false, true, true]) press(key, repeat);
  expect(zoom.zoom).toHaveBeenCalledTimes(6);
  expect(zoom.toggle).toHaveBeenCalledTimes(1);
});

/** Pointers on a picture, and what they do. */
function pointersOn(isClose: boolean) {
  const done = {
    zoom: vi.fn<Zoom["zoom"]>(),
    pan: vi.fn<Zoom["pan"]>(),
    onLeft: vi.fn<() => void>(),
    onRight: vi.fn<() => void>(),
    onDown: vi.fn<() => void>(),
  };
  const held: { pointers?: ReturnType<typeof useZoomPointers> } = {};
  function Room() {
    // Safe cast: pointers ask these alone.
    held.pointers = useZoomPointers({ ...done, isClose } as unknown as Zoom, done);
    return null;
  }
  renderToStaticMarkup(createElement(Room));
  const currentTarget = {
    getBoundingClientRect: () => ({ left: 0, top: 0 }),
    setPointerCapture: () => undefined,
  };
  const pressed = { currentTarget, clientY: 0, isPrimary: true, buttons: 1, button: 0 };
  const event = (type: string, clientX: number, more: object) =>
    // Safe cast: these fields alone are read.
    ({ ...pressed, type, clientX, ...more }) as unknown as PointerEvent<HTMLElement>;
  return {
    done,
    down: (x: number, more: object) => held.pointers?.onPointerDown(event("pointerdown", x, more)),
    move: (x: number, more: object) => held.pointers?.onPointerMove(event("pointermove", x, more)),
    up: (x: number, more: object) => held.pointers?.onPointerUp(event("pointerup", x, more)),
  };
}

test("a finger that was lifted unheard is no second one of the next", () => {
  const { done, down, move, up } = pointersOn(false);
  down(300, { pointerId: 1, pointerType: "touch" });
  const next = { pointerId: 2, pointerType: "touch" };
  down(300, next);
  move(200, next);
  up(100, next);
  expect(done.zoom).not.toHaveBeenCalled();
  expect(done.onLeft).toHaveBeenCalledTimes(1);
  const [first, second] = [3, 4].map((pointerId) => ({ ...next, pointerId, isPrimary: pointerId === 3 }));
  down(100, first ?? {});
  down(200, second ?? {});
  move(300, second ?? {});
  expect(done.zoom).toHaveBeenCalledExactlyOnceWith(2, { x: 200, y: 0 });
});

test.each([
  [-60, 10, "onLeft"],
  [60, -10, "onRight"],
  [20, 120, "onDown"],
  // Too short, and up, which is nothing here.
  [-40, 10, null],
  [10, 80, null],
  [10, -200, null],
])("a finger that went %i px to the side and %i px down: %s", (x, y, way) => {
  expect(swipeOf({ x, y })).toBe(way);
});

test("a mouse that was released unheard moves the picture no further", () => {
  const { done, down, move } = pointersOn(true);
  const mouse = { pointerId: 1, pointerType: "mouse" };
  down(10, mouse);
  move(15, mouse);
  expect(done.pan).toHaveBeenCalledExactlyOnceWith(5, 0);
  for (const x of [30, 60]) move(x, { ...mouse, buttons: 0 });
  move(90, mouse);
  expect(done.pan).toHaveBeenCalledTimes(1);
});

test.each([
  ["ArrowRight", { x: -80, y: 0 }],
  ["ArrowLeft", { x: 80, y: 0 }],
  ["ArrowDown", { x: 0, y: -80 }],
  ["ArrowUp", { x: 0, y: 80 }],
])("%s moves a picture that is close, and leads on from its edge by a new press", (key, by) => {
  const pan = vi.fn<Zoom["pan"]>();
  const press = (
    zoom: { isClose: boolean; hasMore: boolean },
    more: { shiftKey?: boolean; repeat?: boolean } = {},
  ) =>
    takesArrow(
      { key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more },
      { isClose: zoom.isClose, canMove: (to) => zoom.hasMore && to.x === by.x && to.y === by.y, pan },
    );
  const inside = { isClose: true, hasMore: true };
  const atEdge = { isClose: true, hasMore: false };
  expect([press(inside), press(inside, { repeat: true })]).toEqual([true, true]);
  expect(pan.mock.calls).toEqual([
    [by.x, by.y],
    [by.x, by.y],
  ]);
  expect([press(atEdge), press(atEdge, { repeat: true })]).toEqual([false, true]);
  expect(press(inside, { shiftKey: true })).toBe(false);
  expect(press({ isClose: false, hasMore: true })).toBe(false);
  expect(pan).toHaveBeenCalledTimes(2);
});

test("other keys are not taken by a picture that is close", () => {
  const zoom = { isClose: true, canMove: () => true, pan: vi.fn<Zoom["pan"]>() };
  const press = { key: "s", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };
  expect(takesArrow(press, zoom)).toBe(false);
});

test("a picture moves up to its edges, and not where it is smaller than its room", () => {
  const at = { scale: 1, x: -3_190, y: -700 };
  expect(movedView(at, { x: -80, y: 0 }, room, large)).toEqual({ scale: 1, x: -3_200, y: -700 });
  expect(movedView({ ...at, x: -3_200 }, { x: -80, y: 0 }, room, large)).toBeNull();
  const wide = { scale: 0.25, x: 0, y: 50 };
  expect(movedView(wide, { x: 0, y: 80 }, room, large)).toBeNull();
  expect(movedView(wide, { x: -80, y: 0 }, room, large)).toEqual({ scale: 0.25, x: -80, y: 50 });
});
