/** Empty while a page loads, so that the layout does not jump. */
export default function Loading() {
  return <div aria-busy className="h-dvh" />;
}
