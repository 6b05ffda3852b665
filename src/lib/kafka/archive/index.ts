export {openArchive, type ArchiveOptions} from './archive-cluster.ts'
export {formatArchiveLine, parseArchiveLine} from './line-codec.ts'
