import type { ImageView } from "@atelier/server/images";
import type { Row } from "./layout-rows.ts";
import { Tile } from "./tile.tsx";
import type { Selection } from "./selection.tsx";

interface Props {
  readonly row: Row<ImageView>;
  readonly gapPx: number;
  readonly selection: Selection;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
}

export function SheetRow({ row, gapPx, selection, openId, onOpen }: Props) {
  return (
    <div className="flex h-full" style={{ gap: gapPx }}>
      {row.items.map((image, index) => (
        <Tile
          key={image.id}
          image={image}
          widthPx={row.widthsPx[index] ?? 0}
          isSelected={selection.ids.has(image.id)}
          isSelecting={selection.ids.size > 0}
          isOpen={image.id === openId}
          onToggle={selection.toggle}
          onOpen={onOpen}
        />
      ))}
    </div>
  );
}
