import { expect, test } from "vitest";
import { translatedScript } from "./translated.ts";

/** As the document's: what is no child is refused. */
class FakeNode {
  parentNode: FakeNode | null = null;
  readonly childNodes: FakeNode[] = [];
  readonly name: string;
  constructor(name: string, ...children: FakeNode[]) {
    this.name = name;
    for (const child of children) this.insertBefore(child, null);
  }
  private placeOf(node: FakeNode): number {
    const at = this.childNodes.indexOf(node);
    if (at === -1) throw new Error(`${node.name} is not a child of ${this.name}`);
    return at;
  }
  removeChild(node: FakeNode): FakeNode {
    this.childNodes.splice(this.placeOf(node), 1);
    node.parentNode = null;
    return node;
  }
  insertBefore(node: FakeNode, next: FakeNode | null | undefined): FakeNode {
    node.parentNode?.removeChild(node);
    this.childNodes.splice(next ? this.placeOf(next) : this.childNodes.length, 0, node);
    node.parentNode = this;
    return node;
  }
  names(): string {
    return this.childNodes.map(({ name }) => name).join(" ");
  }
}
// oxlint-disable-next-line no-implied-eval, no-new-func -- as a page runs it
new Function("Node", translatedScript())(FakeNode);

/** A paragraph with a text and a button. A translator has wrapped the text in an element. */
function translated() {
  const text = new FakeNode("text");
  const button = new FakeNode("button");
  const paragraph = new FakeNode("p", text, button);
  paragraph.insertBefore(new FakeNode("font", new FakeNode("font", text)), button);
  expect(paragraph.names()).toBe("font button");
  return { text, button, paragraph };
}

test("a translated text is removed with what holds it, and what is put before it stands there", () => {
  const { text, paragraph } = translated();
  paragraph.insertBefore(new FakeNode("icon"), text);
  expect(paragraph.names()).toBe("icon font button");
  expect(paragraph.removeChild(text)).toBe(text);
  expect(paragraph.names()).toBe("icon button");
});

test("a text that a translator threw away ends nothing", () => {
  const { text, button, paragraph } = translated();
  text.parentNode?.removeChild(text);
  paragraph.removeChild(text);
  paragraph.insertBefore(new FakeNode("icon"), text);
  expect(paragraph.names()).toBe("font button icon");
  paragraph.removeChild(button);
  expect(paragraph.names()).toBe("font icon");
});

test("before nothing is at the end", () => {
  const { paragraph } = translated();
  paragraph.insertBefore(new FakeNode("icon"), undefined);
  expect(paragraph.names()).toBe("font button icon");
});
