/** Quiet while a page is on its way: the frame stands, nothing jumps. */
export default function Loading() {
  return <div aria-busy className="h-dvh" />;
}
