/** The mark: an A that is an easel. */
export function Logo() {
  return (
    <span className="flex items-center gap-2.5">
      <svg viewBox="0 0 24 24" className="size-6" fill="none" aria-hidden>
        <path
          d="M4.5 21 12 3.5 19.5 21M7.6 15.2h8.8M12 15.2V21"
          stroke="currentColor"
          strokeWidth="1.7"
          strokeLinecap="square"
        />
      </svg>
      <span className="font-serif text-lg leading-none tracking-tight">Atelier</span>
    </span>
  );
}
