import { randomUUID } from "node:crypto";
import type { Entity, IDatabaseAdapter, Log, Memory, Room, Task, UUID, World } from "@elizaos/core";

/** Rows of one kind by their id. */
class Table<T extends { id?: UUID }> extends Map<UUID, T> {
  add(row: T): UUID {
    const id = row.id ?? (randomUUID() as UUID);
    this.set(id, { ...row, id });
    return id;
  }

  change(row: Partial<T> & { id?: UUID }): boolean {
    const old = row.id === undefined ? undefined : this.get(row.id);
    if (old === undefined || row.id === undefined) return false;
    this.set(row.id, { ...old, ...row });
    return true;
  }

  pick(ids: readonly UUID[]): T[] {
    return ids.flatMap((id) => this.get(id) ?? []);
  }

  where(matches: (row: T) => boolean): T[] {
    return [...this.values()].filter(matches);
  }
}

type Stored = Memory & { tableName: string };
type AgentRow = NonNullable<Awaited<ReturnType<IDatabaseAdapter["getAgent"]>>>;

/** The database of core 1.7 in memory: enough of it for an agent to start and to hold a conversation. */
export function memoryAdapter() {
  const agents = new Table<AgentRow>();
  const entities = new Table<Entity>();
  const rooms = new Table<Room>();
  const worlds = new Table<World>();
  const tasks = new Table<Task>();
  const memories = new Table<Stored>();
  const cache = new Map<string, unknown>();
  const logs: Log[] = [];
  const members = new Map<UUID, Set<UUID>>();
  const state = { dimension: 0 };
  const roomsOf = (entity: UUID) => [...members].filter(([, ids]) => ids.has(entity)).map(([room]) => room);

  const adapter: Record<string, unknown> = {
    db: {},
    initialize: async () => {},
    init: async () => {},
    runPluginMigrations: async () => {},
    isReady: async () => true,
    close: async () => {},
    getConnection: async () => ({}),
    getAgent: async (id: UUID) => agents.get(id) ?? null,
    getAgents: async () => [...agents.values()],
    createAgent: async (agent: AgentRow) => agents.add(agent) !== undefined,
    updateAgent: async (id: UUID, agent: Partial<AgentRow>) => agents.change({ ...agent, id }),
    deleteAgent: async (id: UUID) => agents.delete(id),
    ensureEmbeddingDimension: async (dimension: number) => {
      state.dimension = dimension;
    },
    getEntitiesByIds: async (ids: UUID[]) => entities.pick(ids),
    getEntitiesForRoom: async (room: UUID) => entities.pick([...(members.get(room) ?? [])]),
    createEntities: async (rows: Entity[]) => rows.every((row) => entities.add(row)),
    updateEntity: async (row: Entity) => void entities.change(row),
    getMemories: async (query: { tableName: string; roomId?: UUID; entityId?: UUID; count?: number }) =>
      memories
        .where((row) => row.tableName === query.tableName && (!query.roomId || row.roomId === query.roomId))
        .sort((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0))
        .slice(0, query.count ?? Number.POSITIVE_INFINITY),
    getMemoryById: async (id: UUID) => memories.get(id) ?? null,
    getMemoriesByIds: async (ids: UUID[]) => memories.pick(ids),
    getMemoriesByRoomIds: async ({ tableName, roomIds }: { tableName: string; roomIds: UUID[] }) =>
      memories.where((row) => row.tableName === tableName && roomIds.includes(row.roomId)),
    searchMemories: async ({ tableName }: { tableName: string }) =>
      memories.where((row) => row.tableName === tableName && row.embedding !== undefined),
    createMemory: async (memory: Memory, tableName: string) =>
      memories.add({ createdAt: Date.now(), ...memory, tableName }),
    updateMemory: async (memory: Partial<Memory> & { id: UUID }) => memories.change(memory),
    deleteMemory: async (id: UUID) => void memories.delete(id),
    countMemories: async (room: UUID) => memories.where((row) => row.roomId === room).length,
    log: async (row: Omit<Log, "createdAt">) => {
      // What a database does with a call record: a result that cannot be walked must fail here.
      logs.push({ ...row, body: JSON.parse(JSON.stringify(row.body)), createdAt: new Date() });
    },
    getLogs: async () => logs,
    createWorld: async (world: World) => worlds.add(world),
    getWorld: async (id: UUID) => worlds.get(id) ?? null,
    removeWorld: async (id: UUID) => void worlds.delete(id),
    getAllWorlds: async () => [...worlds.values()],
    updateWorld: async (world: World) => void worlds.change(world),
    getRoomsByIds: async (ids: UUID[]) => rooms.pick(ids),
    createRooms: async (added: Room[]) => added.map((room) => rooms.add(room)),
    updateRoom: async (room: Room) => void rooms.change(room),
    getRoomsByWorld: async (world: UUID) => rooms.where((room) => room.worldId === world),
    getRoomsForParticipant: async (entity: UUID) => roomsOf(entity),
    getRoomsForParticipants: async (ids: UUID[]) => ids.flatMap(roomsOf),
    getParticipantsForEntity: async (id: UUID) =>
      entities.has(id) ? [{ id, entity: entities.get(id) }] : [],
    getParticipantsForRoom: async (room: UUID) => [...(members.get(room) ?? [])],
    isRoomParticipant: async (room: UUID, entity: UUID) => members.get(room)?.has(entity) ?? false,
    addParticipantsRoom: async (ids: UUID[], room: UUID) => {
      members.set(room, new Set([...(members.get(room) ?? []), ...ids]));
      return true;
    },
    removeParticipant: async (entity: UUID, room: UUID) => members.get(room)?.delete(entity) ?? false,
    getParticipantUserState: async () => null,
    createRelationship: async () => true,
    getRelationship: async () => null,
    createComponent: async () => true,
    getComponent: async () => null,
    getCache: async (key: string) => cache.get(key),
    setCache: async (key: string, value: unknown) => cache.set(key, value) !== undefined,
    deleteCache: async (key: string) => cache.delete(key),
    createTask: async (task: Task) => tasks.add(task),
    getTask: async (id: UUID) => tasks.get(id) ?? null,
    getTasksByName: async (name: string) => tasks.where((task) => task.name === name),
    updateTask: async (id: UUID, task: Partial<Task>) => void tasks.change({ ...task, id }),
    deleteTask: async (id: UUID) => void tasks.delete(id),
  };
  for (const name of EMPTY_LISTS) adapter[name] = async () => [];
  for (const name of NOTHING) adapter[name] = async () => {};
  return { adapter: adapter as unknown as IDatabaseAdapter, state, logs, memories };
}

/** Queries and commands that these agents make without storing anything for them. */
const EMPTY_LISTS = [
  "getCachedEmbeddings",
  "getComponents",
  "getMemoriesByWorldId",
  "getRelationships",
  "getTasks",
];
const NOTHING = [
  "deleteAllMemories",
  "deleteComponent",
  "deleteLog",
  "deleteManyMemories",
  "deleteRoom",
  "deleteRoomsByWorldId",
  "setParticipantUserState",
  "updateComponent",
  "updateRelationship",
];
