/** Stands where figures will be, for as long as none have come. */
export function Loading() {
  return (
    <div aria-busy className="flex flex-col gap-3">
      {[64, 40, 52, 36, 48].map((width) => (
        <div key={width} className="h-4 rounded-control bg-well" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
