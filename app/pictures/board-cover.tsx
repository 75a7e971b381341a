import type { Board } from "../client/boards.ts";
import { boardFileUrl, imageUrl } from "../client/urls.ts";
import { cx } from "../ui/button.tsx";

interface CoverProps {
  readonly board: Pick<Board, "id" | "coverIds"> & { readonly ownerName?: string };
  readonly className: string;
}

/** Up to four pictures of a board in one square. */
export function BoardCover({ board, className }: CoverProps) {
  const { coverIds } = board;
  const shown = coverIds.length === 4 ? coverIds : coverIds.slice(0, 1);
  return (
    <span
      aria-hidden
      className={cx(
        "grid shrink-0 overflow-hidden rounded-[4px] bg-well",
        shown.length === 4 && "grid-cols-2",
        className,
      )}
    >
      {shown.map((id) => (
        <img
          key={id}
          src={
            board.ownerName === undefined
              ? imageUrl(id, "thumbnail")
              : boardFileUrl(board.id, id, "thumbnail")
          }
          alt=""
          loading="lazy"
          className="size-full object-cover"
        />
      ))}
    </span>
  );
}
