export const inputStyle =
  "h-10 w-full rounded-control border border-edge bg-surface px-3 text-sm text-ink placeholder:text-quiet transition-colors duration-120 hover:border-quiet focus-visible:outline-2 focus-visible:-outline-offset-1 focus-visible:outline-ink data-invalid:border-fail";
