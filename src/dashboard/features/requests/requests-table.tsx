import { LinkButton } from "../../kit/button.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { maskKey, useKeyNames } from "../keys/api.ts";
import { callNames, useModelNames } from "../models/api.ts";
import type { LoggedRequest } from "./api.ts";
import { callColumns } from "./call-columns.tsx";

interface RequestsTableProps {
  requests: readonly LoggedRequest[];
  isAdmin: boolean;
  onShow: (id: string) => void;
}

export function RequestsTable({ requests, isAdmin, onShow }: RequestsTableProps) {
  const keyName = useKeyNames();
  const modelName = useModelNames();
  return <Table columns={toColumns({ keyName, modelName, isAdmin, onShow })} rows={requests} rowKey={({ id }) => id} />;
}

const toColumns = ({
  keyName,
  modelName,
  isAdmin,
  onShow,
}: Omit<RequestsTableProps, "requests"> & {
  keyName: (id: string) => string;
  modelName: (id: string) => string;
}): readonly Column<LoggedRequest>[] => [
  {
    name: "Request",
    className: "name lead",
    cell: ({ id, model, requested_model, endpoint, capability, key_id, account, email }) => (
      <>
        <LinkButton look="link cut" title={id} onClick={() => onShow(id)}>
          {model === null ? (endpoint ?? id) : modelName(model)}
        </LinkButton>
        {requested_model !== null && <span className="sub cut">requested as {modelName(requested_model)}</span>}
        <span className="sub cut" title={maskKey(key_id)}>
          {capability !== null && `${callNames[capability]} · `}
          {isAdmin ? (email ?? account) : keyName(key_id)}
        </span>
      </>
    ),
  },
  ...callColumns,
];
