interface NodeClass {
  readonly prototype: {
    readonly removeChild: (this: Node, node: Node) => Node;
    readonly insertBefore: (this: Node, node: Node, next: Node | null) => Node;
  };
}

/** Its text is a part of each page, so that it names nothing of this file. */
function bearTranslation({ prototype }: NodeClass): void {
  const { removeChild, insertBefore } = prototype;
  /** The child of `parent` in which a node lies by now; null when it is nowhere in it. */
  const childWith = (parent: Node, node: Node | null | undefined): Node | null => {
    let at = node ?? null;
    while (at !== null && at.parentNode !== parent) at = at.parentNode;
    return at;
  };
  Object.assign(prototype, {
    removeChild(this: Node, node: Node): Node {
      const child = childWith(this, node);
      if (child !== null) removeChild.call(this, child);
      return node;
    },
    insertBefore(this: Node, node: Node, next: Node | null | undefined): Node {
      return insertBefore.call(this, node, childWith(this, next));
    },
  });
}

/**
 * Lets browsers and extensions translate a page. They wrap texts in elements that React does not know: without this, React throws when
 * it removes such a text or inserts something before it, and the page is lost.
 */
export const translatedScript = () => `(${bearTranslation.toString()})(Node);`;
