export {didYouMean, nearest} from '../suggest.ts'
