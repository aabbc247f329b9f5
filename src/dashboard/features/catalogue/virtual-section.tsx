import { useState } from "react";
import { useMayAdminister } from "../../data/roles.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { type CatalogueDocument, writeFile } from "./api.ts";
import { strategies, VirtualDialog } from "./virtual-dialog.tsx";
import { readVirtual, setVirtual, type VirtualRow, virtualName } from "./virtual-rows.ts";

/** Names that stand for several models. */
export function VirtualSection({ document, modelIds }: { document: CatalogueDocument; modelIds: readonly string[] }) {
  const mayAdminister = useMayAdminister();
  const [open, setOpen] = useState<{ document: CatalogueDocument; row: VirtualRow | undefined }>();
  const [removed, setRemoved] = useState<{ document: CatalogueDocument; id: string }>();
  return (
    <Section
      title="Virtual models"
      actions={
        mayAdminister && (
          <Button look="small" icon="plus" onClick={() => setOpen({ document, row: undefined })}>
            Add virtual model
          </Button>
        )
      }
    >
      <Table
        rows={readVirtual(document.files)}
        rowKey={({ id }) => id}
        sortName="virtual"
        empty={
          <Empty icon="models" title="No virtual models">
            <p>One name for several models; each call goes to the first that can answer it.</p>
          </Empty>
        }
        fileName="virtual-models"
        columns={[
          {
            name: "Name",
            className: "name lead",
            sort: ({ id }) => id,
            cell: (row) => (
              <LinkButton look="link cut" disabled={!mayAdminister} onClick={() => setOpen({ document, row })}>
                {row.id}
              </LinkButton>
            ),
          },
          { name: "Models", className: "break", sort: describeMembers, cell: describeMembers },
          { name: "Strategy", sort: describeStrategy, cell: describeStrategy },
          ...(mayAdminister
            ? [
                actionsColumn<VirtualRow>((row) => (
                  <Button
                    look="plain small"
                    aria-label={`Remove ${row.id}`}
                    onClick={() => setRemoved({ document, id: row.id })}
                  >
                    Remove
                  </Button>
                )),
              ]
            : []),
        ]}
      />
      {open !== undefined && (
        <VirtualDialog
          key={open.row?.id}
          {...open}
          modelIds={modelIds}
          onOpen={(row) => setOpen({ document: open.document, row })}
          onClose={() => setOpen(undefined)}
        />
      )}
      {removed !== undefined && (
        <Confirm
          title={`Remove ${removed.id}?`}
          action="Remove virtual model"
          act={async () => {
            const { files, revision } = removed.document;
            await writeFile(virtualName, setVirtual(files, removed.id, undefined), revision);
            toast(`${removed.id} is removed`);
          }}
          onClose={() => setRemoved(undefined)}
        >
          Calls with this name will be refused. Its models are not changed.
        </Confirm>
      )}
    </Section>
  );
}

const describeMembers = ({ models }: VirtualRow) => models.map(describeMember).join(", ");
const describeStrategy = ({ strategy = "priority" }: VirtualRow) => strategies[strategy] ?? strategy;

function describeMember(member: VirtualRow["models"][number]): string {
  if (typeof member === "string") return member;
  return member.weight === undefined ? member.model : `${member.model} (${member.weight})`;
}
