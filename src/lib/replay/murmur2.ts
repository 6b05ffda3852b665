export {murmur2, partitionForKey} from '../kafka/murmur2.ts'
